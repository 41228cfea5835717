"""A post's identity if its feed gives no id or link, or changes them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.models import FeedDocument, Item
from feeds.parsing.document import parse
from feeds.polling.known_items import DIGEST_BYTES
from tests.examples import some_now
from tests.feeds.histories.history import DAY, History, Post, Stage, at, document, post, posts, show

PAGE = "https://blog.example/"
NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)


def said(name: str) -> Post:
    return {"description": f"<p>{name} is all that it says.</p>"}


def by(name: str, **changes: object) -> Post:
    return post(name, **changes)


def sent_long_ago(stage: Stage) -> None:
    """Mark all items as sent, without content, as an older release left them."""
    Item.objects.filter(feed=stage.feed).update(state="cleared", reason="", entry=None, content_hash="")


def nameless(name: str, **changes: object) -> Post:
    """Return a post without guid, at the one link that all have."""
    return post(name, guid=None, link=PAGE, **changes)


def alike(name: str, **changes: object) -> Post:
    """Return a post with the one guid that all have."""
    return post(name, guid="the feed", **changes)


def as_an_older_release_left_it(stage: Stage) -> None:
    """Keep an item only for the first of several posts with one guid or link."""
    holders = FeedDocument.objects.get(feed=stage.feed).channel["holders"]
    assert holders
    Item.objects.filter(feed=stage.feed, guid__startswith="feedletter-synthetic:sha256:").delete()
    document = FeedDocument.objects.get(feed=stage.feed)
    (only,) = Item.objects.filter(feed=stage.feed)
    document.channel.pop("holders")
    document.order = bytes.fromhex(only.guid_hash)[:DIGEST_BYTES]
    document.save()


HISTORIES = [
    History(
        "posts that have a description only",
        [at(0, show(said("a"), said("b"))), at(15, show(said("new"), said("a"), said("b")))],
        mailed="new",
    ),
    History(
        "posts without guids",
        [
            at(0, show(by("a", guid=None), by("b", guid=None))),
            at(15, show(by("new", guid=None), by("a", guid=None), by("b", guid=None))),
        ],
        mailed="new",
    ),
    History(
        "posts of one page, told apart by guids and fragments",
        [
            at(0, show(*(by(n, guid=n, link=f"https://blog.example/#{n}") for n in ("b", "a")))),
            at(15, show(*(by(n, guid=n, link=f"https://blog.example/#{n}") for n in ("new", "b", "a")))),
        ],
        mailed="new",
    ),
    History(
        "what was sent by an older release is not sent again",
        [
            at(0, show(post("a", -2 * DAY), post("b", -3 * DAY))),
            at(5, sent_long_ago),
            at(15, show(post("new", 10), post("a", -2 * DAY), post("b", -3 * DAY))),
            at(75, show(*(post(n, d * DAY, guid=n) for n, d in (("a", -2), ("b", -3))))),
        ],
        mailed="new",
    ),
    History(
        "no guids, and all link to one page",
        [
            at(0, show(nameless("b"), nameless("a"))),
            at(15, show(nameless("new"), nameless("b"), nameless("a"))),
            at(75, show(nameless("newer"), nameless("new"), nameless("b"))),
        ],
        mailed="new newer",
    ),
    History(
        "one guid for all, at links of their own",
        [
            at(0, show(alike("b"), alike("a"))),
            at(15, show(alike("new"), alike("b"), alike("a"))),
            at(75, show(alike("newer"), alike("new"), alike("b"))),
        ],
        mailed="new newer",
        says="told apart",
    ),
    History(
        "one guid for all, and neither links nor titles",
        [
            at(0, show(*({**said(n), "guid": "one"} for n in ("b", "a")))),
            at(15, show(*({**said(n), "guid": "one"} for n in ("new", "b", "a")))),
        ],
        mailed="new",
    ),
    History(
        "98 posts without guids at one link, a new one on top each day",
        [at(day * DAY + 15 * bool(day), show(*posts(1 + day, 98 + day, nameless))) for day in range(5)],
        hours=5 * 24,
        mailed="p99 p100 p101 p102",
        never_says="None of its posts",
    ),
    History(
        "a guid that becomes shared: the new post alone is new",
        [
            at(0, show(post("b"), alike("a"))),
            at(15, show(alike("new"), post("b"), alike("a"))),
            at(75, show(alike("newer"), alike("new"), post("b"), alike("a"))),
        ],
        mailed="new newer",
    ),
    History(
        "a guid that becomes shared by a new post at the end",
        [at(0, show(alike("a"), post("b"))), at(15, show(alike("a"), post("b"), alike("new")))],
        mailed="new",
    ),
    History(
        "a guid that becomes shared while its first post still settles",
        [
            at(0, show(post("b"))),
            at(15, show(alike("one"), post("b"))),
            at(20, show(alike("two"), alike("one"), post("b"))),
        ],
        mailed="one two",
    ),
    History(
        "the first of two with one guid leaves, and comes back",
        [
            at(0, show(post("b"), alike("a"))),
            at(15, show(alike("new"), post("b"), alike("a"))),
            at(75, show(alike("new"), post("b"))),
            at(135, show(alike("new"), post("b"), alike("a"))),
        ],
        mailed="new",
    ),
    History(
        "shared and back: the second of two with one guid leaves, and comes back",
        [
            at(0, show(post("b"), alike("a"))),
            at(15, show(alike("new"), post("b"), alike("a"))),
            at(75, show(post("b"), alike("a"))),
            at(135, show(alike("new"), post("b"), alike("a"))),
        ],
        mailed="new",
    ),
    History(
        "two new posts take the guid of one that has left",
        [
            at(0, show(post("b"), alike("a"))),
            at(15, show(post("c"), post("b"))),
            at(75, show(alike("newer"), alike("new"), post("c"), post("b"))),
        ],
        mailed="c new newer",
    ),
    History(
        "a post comes back with a new one that has its guid",
        [
            at(0, show(post("b"), alike("a"))),
            at(15, show(post("c"), post("b"))),
            at(75, show(alike("new"), alike("a"), post("c"), post("b"))),
        ],
        mailed="c new",
    ),
    History(
        "a title is changed where guids are shared",
        [
            at(0, show(alike("b"), alike("a"))),
            at(15, show(alike("new"), alike("b"), alike("a"))),
            at(75, show(alike("new"), alike("b", title="better"), alike("a"))),
        ],
        mailed="new",
    ),
    History(
        "posts with one guid and title are one post, wherever they link to",
        [
            at(0, show(post("a"))),
            at(15, show(post("new", link=f"{PAGE}x"), post("new", guid=f"{PAGE}new"), post("a"))),
        ],
        mailed="new",
        says="the first one counts",
    ),
    History(
        "after an upgrade what was there is not new",
        [
            at(0, show(*posts(1, 9, nameless))),
            at(12, as_an_older_release_left_it),
            at(15, show(*posts(2, 10, nameless))),
            at(75, show(*posts(1, 11, nameless))),
        ],
        mailed="p10 p11",
    ),
    History(
        "after an upgrade what was there, and is missing at the first reading, is not new when it is back",
        [
            at(0, show(*posts(1, 9, alike))),
            at(12, as_an_older_release_left_it),
            at(15, show(*posts(8, 10, alike))),
            at(75, show(*posts(1, 10, alike))),
        ],
        mailed="p10",
    ),
]


def as_read(shown: list[Post]) -> list[str]:
    body = document(*shown)
    return list(parse(body, content_type="", url=PAGE).guids)


@given(names=NAMES, titles=st.lists(st.sampled_from(["", "same", "other"]), min_size=8, max_size=8))
def test_a_guid_or_link_of_one_post_alone_names_it(names: list[str], titles: list[str]) -> None:
    shown = [post(name, guid=f"id {name}", title=title) for name, title in zip(names, titles, strict=False)]
    assert as_read(shown) == [f"id {name}" for name in names]
    for one in shown:
        del one["guid"]
    assert as_read(shown) == [f"feedletter-synthetic:{PAGE}{name}" for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(HISTORIES, every=5), ids=str)
def test_each_post_once(history: History, play: Callable[[History], Stage]) -> None:
    play(history)
