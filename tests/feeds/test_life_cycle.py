"""A post from first sight to settled: the two steps, and everything that may happen in between."""

import pytest

from feeds.models import Item
from feeds.rules.plan import OLDER
from tests.feeds.watched import Blog, at, post

PING = {"min_delay_minutes": 0, "await_stabilization_minutes": 0, "max_delay_minutes": 0}


@pytest.fixture
def watched(blog: Blog) -> Blog:
    """Read the feed once, at the adding, with the post `old`."""
    blog.show("old")
    blog.watch()
    blog.read(0)
    return blog


def content(blog: Blog, guid: str) -> str:
    entry = blog.item(guid).entry
    assert entry is not None
    return str(entry["content"])


def test_a_post_is_final_at_the_first_poll_31_minutes_after_it_was_first_seen(watched: Blog) -> None:
    watched.show("new", "old")
    assert watched.read(10).new == 1
    item = watched.item("new")
    assert (item.first_seen, item.stable_since, item.last_checked) == (at(10), at(10), at(10))
    assert watched.read(40).final == 0, "30 whole minutes are not more than 30"
    assert watched.item("new").last_checked == at(40)
    assert watched.read(41).final == 1
    assert watched.item("new").final_at == at(41)


def test_a_post_that_is_final_stays_so_with_the_moment_it_became_it(watched: Blog) -> None:
    watched.show("new", "old")
    for minutes in (10, 41, 90):
        watched.read(minutes)
    watched.show(post("new", content="<p>Edited late.</p>"), "old")
    watched.read(200)
    item = watched.item("new")
    assert (item.state, item.final_at) == ("unassigned", at(41))
    assert content(watched, "new") == "<p>Edited late.</p>"


def test_a_feed_that_cannot_be_read_finalises_nothing(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    watched.serve("", status=500)
    assert not watched.poll(300).ok
    assert watched.final() == set()
    assert watched.feed.fetched_through == at(10)


def test_a_withdrawn_post_is_never_final(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    watched.show("old")
    assert watched.read(20).vanished == 1
    watched.read(500)
    item = watched.item("new")
    assert (item.state, item.vanished_at, item.final_at) == ("unassigned", at(20), None)
    assert "new" not in watched.final()


def test_a_post_withdrawn_after_it_was_final_and_before_it_was_assigned_is_not_sent(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    watched.read(41)
    watched.show("old")
    watched.read(51)
    assert watched.final() == set()


def test_a_withdrawn_post_that_returns_is_new_again(watched: Blog) -> None:
    for minutes, posts in ((10, ("new", "old")), (20, ("old",)), (60, ("new", "old"))):
        watched.show(*posts)
        result = watched.read(minutes)
    assert result.new == 1
    assert (watched.item("new").first_seen, watched.item("new").vanished_at) == (at(60), None)
    watched.read(90)
    assert watched.final() == set()
    watched.read(91)
    assert watched.final() == {"new"}


def test_an_edit_restarts_the_stabilisation_and_the_newest_text_is_kept(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    watched.show(post("new", content="<p>Better.</p>"), "old")
    assert watched.read(41).changed == 1
    assert watched.final() == set()
    assert watched.item("new").stable_since == at(41)
    watched.read(56)
    assert watched.final() == set()
    watched.read(57)
    assert watched.final() == {"new"}
    assert content(watched, "new") == "<p>Better.</p>"


def test_a_post_that_keeps_changing_is_final_after_the_longest_delay(watched: Blog) -> None:
    for minutes in range(10, 200, 10):
        watched.show(post("new", content=f"<p>It is minute {minutes}.</p>"), "old")
        watched.read(minutes)
    assert watched.item("new").final_at is None
    watched.show(post("new", content="<p>It is minute 191.</p>"), "old")
    watched.read(191)
    assert watched.item("new").final_at == at(191)
    assert content(watched, "new") == "<p>It is minute 191.</p>"


def test_another_channel_title_is_no_edit(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    watched.show("new", "old", title="Another title", extra="<generator>v2</generator>")
    assert watched.read(41).changed == 0
    assert watched.final() == {"new"}


def test_a_post_that_rolled_off_the_old_end_is_final_from_what_was_kept(watched: Blog) -> None:
    watched.show("a", "old")
    watched.read(10)
    watched.show("c", "b")
    assert watched.read(20).vanished == 0
    assert watched.item("a").rolled_off_at == at(20)
    watched.read(41)
    assert watched.final() == {"a"}
    assert content(watched, "a") == "<p>a</p>"


def test_a_document_without_entries_withdraws_nothing_and_leaves_the_order_before_it(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    watched.show()
    assert watched.read(20).vanished == 0
    watched.show("old")
    assert watched.read(30).vanished == 1, "the order before the empty document counts"


def test_a_new_entry_dated_before_the_adding_is_excluded(watched: Blog) -> None:
    watched.show(post("late", published=at(-1)), post("same", published=at(0)), "old")
    assert watched.read(10).excluded == 2
    for guid in ("late", "same"):
        item = watched.item(guid)
        assert (item.state, item.reason, item.entry) == ("excluded", OLDER, None)
        assert item.title == f"Post {guid}"


def test_what_was_sent_or_excluded_and_reappears_is_not_sent_again(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    Item.objects.filter(guid="new").update(state="cleared", entry=None, content_hash="")
    for minutes, posts in ((20, ()), (30, ("x",)), (40, (post("new", title="Changed"), "old", "x"))):
        watched.show(*posts)
        watched.read(minutes)
    assert watched.states() == {"old": "excluded", "new": "cleared", "x": "unassigned"}
    assert watched.item("new").entry is None


def test_an_assigned_post_takes_edits_and_is_set_aside_when_it_is_withdrawn(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    Item.objects.filter(guid="new").update(state="assigned", final_at=at(41))
    watched.show(post("new", content="<p>Newest.</p>"), "old")
    watched.read(50)
    assert content(watched, "new") == "<p>Newest.</p>"
    watched.show("old")
    watched.read(60)
    item = watched.item("new")
    assert (item.state, item.vanished_at, item.final_at) == ("assigned", None, at(41))
    assert item.set_aside_at == at(60)
    watched.show("new", "old")
    watched.read(70)
    assert watched.item("new").set_aside_at is None


def test_a_feed_that_pings_settles_its_posts_at_first_sight(blog: Blog) -> None:
    blog.show("old")
    blog.watch(**PING, recheck_every_minutes=0)
    blog.read(0)
    blog.show("new", "old")
    assert blog.read(1).final == 1
    assert blog.item("new").final_at == at(1)


def test_the_same_bytes_again_confirm_what_waits_without_being_parsed(watched: Blog) -> None:
    watched.show("new", "old")
    watched.read(10)
    result = watched.read(41)
    assert (result.final, result.new) == (1, 0)
    assert (watched.feed.fetched_through, watched.item("new").last_checked) == (at(41), at(41))
