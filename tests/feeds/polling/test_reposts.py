"""The same post under a new id, from the feed's document to the rows."""

import pytest

from feeds.items.held import include_item
from feeds.models import Feed, FeedDocument, Item
from feeds.polling.describe import ALL_UNKNOWN, HABITUAL
from feeds.polling.poll import push_feed
from feeds.rules.reposts import KEPT_FOR_A_LINK, REPOST
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss

TEXT = "<p>We moved the whole archive, page by page, and what we found on the way is told here.</p>"


@pytest.fixture
def watched(blog: Blog) -> Blog:
    blog.show("old")
    blog.watch()
    blog.read(0)
    return blog


@pytest.fixture
def waiting(watched: Blog) -> Blog:
    """Publish post `a` after ten minutes."""
    watched.show("a", "old")
    watched.read(10)
    return watched


def under(guid: str, name: str = "a", **changes: str) -> dict[str, str]:
    """Return the post of that name with another id."""
    return {**post(name), "guid": guid, **changes}


def state(blog: Blog, guid: str) -> tuple[str, str]:
    item = blog.item(guid)
    return item.state, item.reason


def test_every_item_has_the_hash_of_its_link(waiting: Blog) -> None:
    hashes = {waiting.item(guid).link_hash for guid in ("a", "old")}
    assert {len(hash_) for hash_ in hashes} == {32}
    assert len(hashes) == 2
    before = waiting.item("a").link_hash
    waiting.show(under("a", link="https://blog.example.org/moved"), "old")
    waiting.read(20)
    assert waiting.item("a").link_hash not in {before, ""}


@pytest.mark.parametrize("done", ["assigned", "cleared", "excluded"])
def test_a_post_that_was_sent_and_has_a_new_id_is_excluded_until_one_says_otherwise(
    waiting: Blog, done: str
) -> None:
    content = {} if done == "assigned" else {"entry": None, "content_hash": ""}
    Item.objects.filter(guid="a").update(state=done, final_at=at(41), **content)
    waiting.show(under("a2"), "old")
    result = waiting.read(50)
    assert (result.new, result.excluded, result.vanished) == (0, 1, 0)
    assert state(waiting, "a2") == ("excluded", REPOST)
    assert waiting.item("a").state == done
    waiting.read(500)
    assert "a2" not in waiting.final()
    include_item(item_id=waiting.item("a2").pk, now=at(500))
    waiting.read(600)
    assert "a2" in waiting.final()


def test_a_post_that_waits_goes_on_waiting_under_its_new_id(waiting: Blog) -> None:
    pk = waiting.item("a").pk
    waiting.show(under("a2"), "old")
    result = waiting.read(20)
    assert (result.new, result.changed, result.vanished) == (0, 0, 0)
    item = waiting.item("a2")
    assert (item.pk, item.first_seen, item.stable_since) == (pk, at(10), at(10))
    assert item.entry is not None
    assert item.entry["guid"] == "a2"
    assert state(waiting, "a") == ("excluded", REPOST)
    assert waiting.item("a").title == "Post a"
    waiting.read(41)
    assert waiting.final() == {"a2"}


def test_a_post_that_changed_with_its_id_waits_for_rest(waiting: Blog) -> None:
    waiting.show(under("a2", content="<p>Edited.</p>"), "old")
    assert waiting.read(41).changed == 1
    assert waiting.final() == set()
    item = waiting.item("a2")
    assert (item.stable_since, item.changes) == (at(41), 1)
    waiting.read(57)
    assert waiting.final() == {"a2"}


def test_an_id_that_was_left_behind_never_comes_new_again(waiting: Blog) -> None:
    waiting.show(under("a2"), "old")
    waiting.read(20)
    waiting.read(60)
    Item.objects.final().update(state="cleared", entry=None, content_hash="")
    waiting.show(under("a"), "old")
    assert waiting.read(70).new == 0
    waiting.show("old")
    waiting.read(80)
    waiting.show(under("a"), "old")
    assert waiting.read(90).new == 0


def test_a_post_whose_id_goes_back_and_forth_is_sent_once(waiting: Blog) -> None:
    pk = waiting.item("a").pk
    for minutes, guid in ((20, "a2"), (30, "a"), (40, "a2"), (45, "a")):
        waiting.show(under(guid), "old")
        assert waiting.read(minutes).new == 0
    assert waiting.item("a").pk == pk
    assert waiting.final() == {"a"}
    assert Item.objects.count() == 3


def test_a_withdrawn_post_that_comes_back_under_its_earlier_id_is_new_again(waiting: Blog) -> None:
    pk = waiting.item("a").pk
    for minutes, posts in ((20, (under("a2"), "old")), (30, ("old",)), (40, (under("a"), "old"))):
        waiting.show(*posts)
        waiting.read(minutes)
    item = waiting.item("a")
    assert (item.pk, item.vanished_at, item.first_seen) == (pk, None, at(40))
    waiting.read(71)
    assert waiting.final() == {"a"}


def test_a_post_at_another_or_a_shared_link_is_another_post(waiting: Blog) -> None:
    waiting.show(under("b", "b"), "old")
    assert waiting.read(20).new == 1
    waiting.show(under("c", "b"), under("d", "b"), "old")
    assert waiting.read(30).new == 2


def test_tracking_parameters_make_no_other_link(waiting: Blog) -> None:
    waiting.show(under("a2", link="http://blog.example.org/a?utm_source=feed#top"), "old")
    assert waiting.read(20).new == 0
    assert waiting.item("a2").first_seen == at(10)


def test_a_feed_that_is_not_to_recognise_reposts_does_not(waiting: Blog) -> None:
    Feed.objects.update(join_reposts=False)
    waiting.show(under("a2"), "old")
    result = waiting.read(20)
    assert (result.new, result.vanished) == (1, 1)


def test_a_blog_that_gives_all_its_posts_new_ids_sends_nothing_and_holds_nothing(blog: Blog) -> None:
    names = [f"p{n}" for n in range(20)]
    blog.show(*names)
    blog.watch()
    blog.read(0)
    blog.show("fresh", *[under(f"new {name}", name) for name in names])
    result = blog.read(10)
    assert (result.new, result.excluded, result.held) == (1, 20, 0)
    assert blog.feed.warning == "", "it happens once"


def test_ids_that_are_made_up_at_every_reading_are_told_and_cost_no_more_with_time(blog: Blog) -> None:
    names = [f"p{n}" for n in range(3)]
    blog.show(*names)
    blog.watch()
    blog.read(0)
    for minute in range(1, KEPT_FOR_A_LINK + 6):
        blog.show(*[under(f"{name} at {minute}", name) for name in names])
        assert blog.read(minute).new == 0
    assert blog.feed.warning == HABITUAL
    kept = Item.objects.count()
    assert kept == len(names) * (KEPT_FOR_A_LINK + 2), "the first, those kept, and the present one"
    blog.show(*[under(f"{name} at last", name) for name in names])
    blog.read(100)
    assert Item.objects.count() == kept
    blog.show("fresh", *[under(f"{name} at last", name) for name in names])
    blog.read(110)
    assert blog.feed.warning == ""


def test_ids_that_are_made_up_for_posts_without_links_are_told(blog: Blog) -> None:
    for minute in range(3):
        blog.show(*[{"guid": f"{n} at {minute}", "title": str(n)} for n in range(4)])
        if minute == 0:
            blog.watch()
        blog.read(minute)
    assert blog.feed.warning == ALL_UNKNOWN
    assert Item.objects.filter(link_hash="").count() == Item.objects.count()


def test_what_an_empty_document_came_between_is_still_the_same_post(waiting: Blog) -> None:
    waiting.show()
    waiting.read(15)
    waiting.show(under("a2"), "old")
    assert waiting.read(20).new == 0
    order = bytes(FeedDocument.objects.get().order).hex()
    assert order.startswith(waiting.item("a2").guid_hash[:32])


@pytest.fixture
def sent(watched: Blog) -> Blog:
    """Mark post `a`, between two others, as sent."""
    watched.show("top", dated("a"), "old")
    watched.read(10)
    Item.objects.update(state="cleared", entry=None, content_hash="")
    return watched


def dated(guid: str, days: float = 0, **changes: str) -> dict[str, object]:
    """Return a post of that id, published that many days before the adding."""
    published = at(-days * 24 * 60)
    return {
        **post(guid),
        "title": "How we moved our archive",
        "content": TEXT,
        "published": published,
        **changes,
    }


@pytest.mark.parametrize("days", [-1, 0, 5])
def test_a_title_corrected_with_its_address_and_perhaps_its_day_is_not_sent_again(
    sent: Blog, days: float
) -> None:
    text = TEXT.replace("whole archive", "entire archive")
    sent.show("top", dated("fixed", days, title="How the archive was moved", content=text), "old")
    result = sent.read(20)
    assert (result.new, result.excluded) == (0, 1)
    assert state(sent, "fixed") == ("excluded", REPOST)


def test_an_address_corrected_with_its_date_is_not_sent_again(sent: Blog) -> None:
    sent.show("top", dated("fixed", 1.2), "old")
    assert sent.read(20).excluded == 1


def test_a_new_post_in_the_place_of_a_withdrawn_one_is_sent(sent: Blog) -> None:
    other = "<p>The cats of the archive have their own newsletter now, and it is sent to mice.</p>"
    sent.show("top", dated("cats", -0.3, content=other), "old")
    assert sent.read(20).new == 1


def test_a_post_that_waits_goes_on_under_its_corrected_title(watched: Blog) -> None:
    watched.show("top", dated("a"), "old")
    watched.read(10)
    pk = watched.item("a").pk
    watched.show("top", dated("fixed", title="How the archive was moved"), "old")
    result = watched.read(20)
    assert (result.new, result.vanished) == (0, 0)
    assert (watched.item("fixed").pk, watched.item("fixed").title) == (pk, "How the archive was moved")


def test_a_push_leaves_what_may_be_a_corrected_post_to_the_next_reading(sent: Blog) -> None:
    body = rss([dated("fixed", 1.2)])
    headers = {"content-type": "application/rss+xml"}
    feed = sent.feed
    result = push_feed(feed_id=feed.pk, body=body, headers=headers, moment=at(15), now=at(15))
    assert result is not None
    assert result.new == 0
    sent.show("top", dated("fixed", 1.2), "old")
    assert sent.read(20).excluded == 1
