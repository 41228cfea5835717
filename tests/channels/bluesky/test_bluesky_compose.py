"""The text of a letter on Bluesky.

From a command to posts on a Bluesky server: the account's identity, and state between passes.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from channels.announcement import EPOCH
from channels.base import Message
from channels.bluesky.bridge import record_key, tid
from channels.bluesky.message import Thread, fits_post, rich_text, shown_link
from channels.http.links import postable
from channels.letter import Letter
from common.secrets import opened
from common.truncation import FittingPart
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery, Lane, RemotePost
from feeds.parsing.entry import Media
from subscriptions.models import Destination, Subscription
from tests.channels.bluesky.bluesky_letters import CHANNEL, message, recipient
from tests.contracts.bridge import LINK, entry, letter
from tests.contracts.channel import NOW
from tests.delivery.ledger import Clock
from tests.factories import NOW as FACTORY_NOW
from tests.factories import BridgeFactory, an_issue
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import (
    DID,
    HANDLE,
    PASSWORD,
    REFRESH,
    SIGN_IN,
    TID,
    BlueskyServer,
    check_facets,
    check_record,
)

ARCHIVE = "https://l.example/7/"


def record(of: Message[Thread]) -> dict[str, Any]:
    assert of.refusal == ""
    return of.body.posts[0].record


def digest(count: int = 3, **fields: Any) -> Message[Thread]:
    entries = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(count))
    usual = {"entries": entries, "is_digest": True, "web_url": ARCHIVE}
    return message("T0, and 2 more", **{**usual, **fields})


def check(made: Message[Thread]) -> None:
    """Check all records. Raises Refused as a server would."""
    for post in made.body.posts:
        check_record(post.record, {})
        check_record(post.plain, {})


class TestWords:
    def test_a_post_has_a_card_and_no_address_in_its_words(self) -> None:
        made = record(message(entries=(entry("Bees & wasps", summary="<p>They &lt;3 us.</p>"),)))
        assert made["text"] == "[bees] New Post: Bees & wasps, by Ada"
        assert "facets" not in made
        card = made["embed"]["external"]
        assert card == {"uri": LINK, "title": "Bees & wasps", "description": "They <3 us."}

    def test_without_a_card_the_address_is_in_the_words(self) -> None:
        made = record(message(options={"card": "no"}))
        assert made["text"] == "[bees] New Post: A post, by Ada blog.example/posts/bees?a=1&b=2"
        assert made["facets"][0]["features"] == [{"$type": "app.bsky.richtext.facet#link", "uri": LINK}]
        assert "embed" not in made

    def test_a_post_without_a_title_is_named_by_its_newsletter(self) -> None:
        made = record(message(""))
        assert made["text"] == "[bees] New Untitled Post, by Ada"
        assert made["embed"]["external"]["title"] == "Bees"

    def test_a_digest_links_to_its_page(self) -> None:
        made = record(digest())
        assert made["text"] == "[bees] T0, and 2 more l.example/7"
        assert made["facets"][0]["features"][0]["uri"] == ARCHIVE
        assert "embed" not in made

    def test_own_words_need_no_address_beside_the_card(self) -> None:
        made = message(text="Read this")
        assert record(made)["text"] == "Read this"
        assert made.body.posts[0].plain["text"] == "Read this blog.example/posts/bees?a=1&b=2"

    def test_own_words_keep_the_address_where_they_have_it(self) -> None:
        made = record(message(text=f"Read {LINK}\nnow"))
        assert made["text"] == "Read blog.example/posts/bees?a=1&b=2\nnow"

    def test_a_hashtag_of_the_title_is_not_repeated_and_symbols_become_words(self) -> None:
        post = entry("About #Bees", categories=("bees", "C++", "C#", "#wax", "A+B"))
        made = record(message(entries=(post,), options={"template": "{title} {hashtags}"}))
        assert made["text"] == "About #Bees #CPlusPlus #CSharp #wax #APlusB"

    def test_a_template_with_hashtags_shows_them_and_hides_none(self) -> None:
        post = entry("A post", categories=("bees", "urban planning"))
        made = record(message(entries=(post,), options={"template": "{title} {hashtags}"}))
        assert made["text"] == "A post #bees #UrbanPlanning"
        assert [facet["features"][0]["tag"] for facet in made["facets"]] == ["bees", "UrbanPlanning"]
        assert "tags" not in made

    def test_where_the_template_does_not_fit_the_usual_words_are_said(self) -> None:
        made = record(digest(20, options={"template": "{posts}" + "x" * 200}))
        assert made["text"].startswith("[bees] T0, and 2 more")

    def test_a_template_that_says_nothing_posts_nothing(self) -> None:
        options = {"template": "{title}", "card": "no"}
        assert message("", options=options).refusal == "There is no text to post."

    def test_a_link_that_is_too_long_is_refused(self) -> None:
        assert "longer" in message(entries=(entry(link=f"{LINK}{'x' * 8_000}"),)).refusal


class TestRecord:
    def test_its_time_is_the_letters(self) -> None:
        assert record(message())["createdAt"] == "2026-03-04T05:06:07.000Z"
        assert message().body.at == NOW
        assert message(at=None).body.at == EPOCH

    def test_categories_are_tags_that_are_not_shown(self) -> None:
        post = entry("On #bees", categories=("Bees", "wasps"))
        assert record(message(entries=(post,)))["tags"] == ["wasps"]
        assert "tags" not in record(message(entries=(post,), options={"tags": "no"}))

    def test_a_language_is_named_without_its_country(self) -> None:
        assert record(message(language="en-US"))["langs"] == ["en"]
        assert "langs" not in record(message())

    def test_a_content_warning_is_a_label_of_each_post(self) -> None:
        made = digest(options={"content_label": "nudity", "thread": "yes"})
        assert {post.record["labels"]["values"][0]["val"] for post in made.body.posts} == {"nudity"}

    def test_the_first_picture_is_the_cards(self) -> None:
        media = tuple(Media(f"https://x.example/{name}.png", "image/png") for name in "ab")
        assert message(entries=(entry(media=media),)).body.posts[0].picture == "https://x.example/a.png"

    def test_no_password_is_shown(self) -> None:
        assert PASSWORD not in repr(message())


class TestThread:
    def test_each_post_of_a_digest_answers_the_one_before(self) -> None:
        made = digest(options={"thread": "yes"})
        assert [post.record["text"] for post in made.body.posts[1:]] == [
            f"T{n}\nblog.example/{n}" for n in range(3)
        ]
        times = [post.record["createdAt"] for post in made.body.posts]
        assert times == sorted(set(times))
        check(made)

    def test_a_thread_ends_after_twenty_answers(self) -> None:
        assert len(digest(40, options={"thread": "yes"}).body.posts) == 21

    def test_a_post_alone_has_no_thread(self) -> None:
        assert len(message(options={"thread": "yes"}).body.posts) == 1


texts = st.text(max_size=600)
options = st.fixed_dictionaries(
    {},
    optional={
        "card": st.just("no"),
        "thread": st.just("yes"),
        "template": st.sampled_from(["{title} {link} {hashtags}", "{summary} {posts}", "{titles|x} {link}"]),
    },
)


@given(texts, texts, texts, texts, st.lists(texts, max_size=3), options, st.booleans(), texts)
def test_whatever_a_post_says_a_server_takes_it(
    title: str,
    summary: str,
    author: str,
    path: str,
    categories: list[str],
    chosen: dict[str, str],
    is_digest: bool,
    own: str,
) -> None:
    link = f"https://blog.example/{path}"
    posts = (entry(title, link=link, summary=summary, authors=(author,), categories=tuple(categories)),)
    said: Letter = letter(
        title, entries=posts, options=chosen, is_digest=is_digest, web_url=ARCHIVE, text=own
    )
    made = CHANNEL.composer(said)(recipient())
    if made.refusal:
        assert made.refusal == "There is no text to post."
    else:
        check(made)


@pytest.mark.parametrize("space", ["\ufeff", "\u00a0", "\x85", "\u2003", "\x1c"])
def test_no_white_space_of_any_language_is_in_a_link(space: str) -> None:
    check(message(entries=(entry(link=f"https://e.example/a{space}b"),)))


Facet = tuple[int, int, str]


def found(*parts: FittingPart, hashtags: tuple[str, ...] = (), is_own: bool = False) -> list[Facet]:
    """Return start, end, and link or tag of each facet."""
    _, facets = rich_text(parts, hashtags, is_own=is_own)
    return [
        (
            facet["index"]["byteStart"],
            facet["index"]["byteEnd"],
            facet["features"][0].get("uri") or facet["features"][0]["tag"],
        )
        for facet in facets
    ]


def test_places_are_counted_in_octets() -> None:
    words = FittingPart("Žluť 🦄 #bees https://e.com/ä")
    assert found(words) == [(12, 17, "bees"), (18, 34, "https://e.com/ä")]


def test_a_title_has_no_links_and_no_hashtags_but_its_posts() -> None:
    title = FittingPart("#bees and #wasps at https://evil.example @bot.example", cuttable=True)
    assert found(title, hashtags=("Bees",)) == [(0, 5, "bees")]


def test_the_newsletters_own_words_have_links_and_hashtags() -> None:
    words = FittingPart("See https://a.example/x, (https://b.example) #now #7", cuttable=True)
    places = [place for _, _, place in found(words, is_own=True)]
    assert places == ["https://a.example/x", "https://b.example", "now"]


def test_a_hashtag_that_was_cut_is_none() -> None:
    tags = FittingPart("#" + "a" * 299 + "#b", cuttable=True)
    assert found(tags, hashtags=("a" * 299,), is_own=True) == []


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://www.e.com/", "e.com"),
        ("https://e.com/a?b=c", "e.com/a?b=c"),
        ("https://e.com/" + "a" * 40, "e.com/" + "a" * 34 + "…"),
    ],
)
def test_links_are_shown_short(link: str, shown: str) -> None:
    assert shown_link(link) == shown


def test_halves_of_characters_and_controls_are_left_out() -> None:
    text, _ = rich_text([FittingPart("a\ud83db\x00c\nd")], ())
    assert text == "abc\nd"


links = st.text(max_size=400).map(lambda rest: postable(f"https://e.example/{rest}"))


@given(st.lists(st.text(max_size=300), max_size=4), links, st.lists(st.text(max_size=20), max_size=3))
def test_any_words_fit_with_facets_on_whole_letters(words: list[str], link: str, tags: list[str]) -> None:
    parts = [*(FittingPart(text, cuttable=True) for text in words), FittingPart(link, link=link)]
    text, facets = rich_text(parts, tags, is_own=True)
    assert fits_post(text)
    check_facets(text.encode(), facets)
    last = facets[-1]
    assert last["features"][0]["uri"] == link
    assert text.encode()[last["index"]["byteStart"] :].decode() == shown_link(link)


def test_a_key_is_written_as_the_protocol_says() -> None:
    assert tid(1767225600000000, 5) == "3mbd3542k2227"


def test_a_repetition_has_the_same_key_and_another_post_another() -> None:
    assert record_key(NOW, "issue-1") == record_key(NOW, "issue-1")
    assert len({record_key(NOW, f"issue-{number}") for number in range(1000)}) == 1000


def test_later_posts_have_later_keys() -> None:
    moments = [NOW + timedelta(seconds=2 * number) for number in range(100)]
    keys = [record_key(at, f"issue-{number}") for number, at in enumerate(moments)]
    assert keys == sorted(keys)


@given(st.datetimes(timezones=st.just(UTC)), st.text(max_size=50).filter(str.isprintable))
def test_any_time_has_a_key(at: datetime, key: str) -> None:
    assert TID.fullmatch(record_key(at, key))


@pytest.fixture
def server() -> Iterator[BlueskyServer]:
    with BlueskyServer() as made:
        yield made


@pytest.fixture
def bridge(server: BlueskyServer) -> Any:
    made = BridgeFactory(channel="bluesky")
    given = {"handle": HANDLE, "app_password": PASSWORD, "service_url": server.url}
    call_command("subscribe", made.name, **given)
    return made


def post_one(bridge: Any, minutes: float) -> Any:
    issue = an_issue(posts=1, subscribable=bridge, published_at=None)
    publish(issue_id=issue.pk, now=FACTORY_NOW)
    return send_due(clock=Clock(FACTORY_NOW + timedelta(minutes=minutes)))


@pytest.mark.django_db
@pytest.mark.usefixtures("loopback_allowed")
def test_a_subscriber_is_known_by_its_did_and_taken_off_by_its_handle(
    bridge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    destination = Destination.objects.get()
    assert (destination.core, destination.label) == (DID, f"@{HANDLE}")
    call_command("unsubscribe", bridge.name, handle=f"@{HANDLE}", json=True)
    said = capsys.readouterr().out
    assert PASSWORD not in said
    assert json.loads(said[said.index("{") :])["destination"] == f"@{HANDLE}"
    assert Subscription.objects.get().status != Subscription.Status.CONFIRMED
    with pytest.raises(CommandError, match="has no subscriber"):
        call_command("unsubscribe", bridge.name, handle="another.example")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback_allowed")
def test_later_passes_go_on_with_the_tokens_of_the_first(bridge: Any, server: BlueskyServer) -> None:
    asked = len(server.asked(SIGN_IN))
    assert [post_one(bridge, 0).sent, post_one(bridge, 2).sent] == [1, 1]
    assert len(server.asked(SIGN_IN)) == asked + 1
    server.use_up()
    assert post_one(bridge, 4).sent == 1
    assert len(server.asked(REFRESH)) == 1
    assert opened(Lane.objects.get().state)["did"] == DID
    urls = {f"https://bsky.app/profile/{DID}/post/{rkey}" for rkey in server.records}
    assert set(RemotePost.objects.values_list("url", flat=True)) == urls
    assert len(urls) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback_allowed")
def test_a_lost_answer_leaves_one_post(bridge: Any, server: BlueskyServer) -> None:
    server.says = Reply(takes=True, hangs_up=True)
    assert post_one(bridge, 0).deferred == 1
    server.says = None
    assert send_due(clock=Clock(FACTORY_NOW + timedelta(minutes=5))).sent == 1
    assert len(server.records) == 1
    assert Delivery.objects.get().remote_id.startswith(f"at://{DID}/")
