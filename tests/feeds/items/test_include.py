"""Including excluded posts again."""

import pytest

from feeds.items.held import include_item
from feeds.models import FeedDocument, Item
from tests.factories import ItemFactory
from tests.feeds.watched import Blog, at, post


@pytest.fixture
def watched(blog: Blog) -> Blog:
    """Read the feed once; `a` is excluded, as it was there before."""
    blog.show("b", post("a", content='<a href="/x">x</a><script>1</script>'))
    blog.watch()
    blog.read(0)
    return blog


def include(blog: Blog, guid: str, minutes: float) -> str:
    return include_item(item_id=blog.item(guid).pk, now=at(minutes))


def test_an_included_post_is_new_again_with_clean_content_and_settles(watched: Blog) -> None:
    assert include(watched, "a", 100) == "“Post a” will be sent once settled."
    item = watched.item("a")
    assert (item.state, item.reason) == ("unassigned", "")
    assert (item.first_seen, item.stable_since, item.final_at) == (at(100), at(100), None)
    assert item.entry is not None
    assert item.entry["content"] == '<a href="https://blog.example.org/x" rel="noopener">x</a>'
    assert watched.read(130).changed == 0
    assert watched.final() == set()
    watched.read(131)
    assert watched.final() == {"a"}


def test_an_included_post_can_still_be_withdrawn(watched: Blog) -> None:
    include(watched, "b", 100)
    watched.show("a")
    assert watched.read(110).vanished == 1


def test_a_post_that_left_the_feed_cannot_be_included(watched: Blog) -> None:
    watched.show("b")
    watched.read(10)
    assert include(watched, "a", 20) == "“Post a” is no longer in the feed, so it can’t be sent."
    assert watched.item("a").state == "excluded"


@pytest.mark.slow
def test_a_post_beyond_what_is_read_in_full_can_be_included(blog: Blog) -> None:
    blog.show(*[f"post {number}" for number in range(600)])
    blog.watch(start="all")
    blog.read(0)
    blog.feed.items.filter(guid="post 300").update(title="Middle")
    beyond = blog.feed.items.filter(state="excluded").first()
    assert beyond is not None
    assert "will be sent" in include_item(item_id=beyond.pk, now=at(10))
    assert blog.item(beyond.guid).title == f"Post {beyond.guid}"


def test_only_what_is_excluded_can_be_included(watched: Blog) -> None:
    watched.show("c", "b")
    watched.read(10)
    assert include(watched, "c", 20) == "“Post c” is not excluded."
    assert watched.item("c").first_seen == at(10)


def test_without_a_kept_document_there_is_nothing_to_send(db: None) -> None:
    item = ItemFactory(state="excluded")
    assert "can’t be sent" in include_item(item_id=item.pk, now=at(0))


def test_a_document_that_was_replaced_meanwhile_is_not_used(
    watched: Blog, monkeypatch: pytest.MonkeyPatch
) -> None:
    from feeds.items import held as including

    look = including.kept_entry

    def then_read(item: Item, document: FeedDocument) -> object:
        entry = look(item, document)
        watched.show("b", post("a", content="<p>Newer.</p>"))
        watched.read(10)
        return entry

    monkeypatch.setattr(including, "kept_entry", then_read)
    assert "Try again" in include(watched, "a", 20)
    monkeypatch.undo()
    include(watched, "a", 20)
    entry = watched.item("a").entry
    assert entry is not None
    assert entry["content"] == "<p>Newer.</p>"
