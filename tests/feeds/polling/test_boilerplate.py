"""Text common to all summaries of a feed is found at a reading, and stored with feed and posts."""

from typing import Any

from feeds.items.held import include_item, present_entries
from feeds.parsing.entry import Entry
from feeds.rules.boilerplate import summary_of, without_boilerplate
from tests.feeds.hubs.test_pushes import push
from tests.feeds.watched import Blog, at, post

TEXTS = {"a": "One bee.", "b": "Bees again!", "c": "A queen.", "d": "Wax it is.", "e": "Honey now."}


def told(name: str) -> dict[str, Any]:
    link = f'<a href="https://blog.example.org/{name}">Post {name}</a>'
    return post(name, content=f"<p>{TEXTS[name]}</p><p>The post {link} appeared first on Bees.</p>")


def own_words(blog: Blog, name: str) -> str:
    entry = Entry.from_json(blog.item(name).entry or {})
    return without_boilerplate(summary_of(entry), entry.boilerplate)


def test_it_is_kept_with_posts_as_they_come(blog: Blog) -> None:
    blog.show(told("c"), told("b"), told("a"))
    blog.watch()
    blog.read(0)
    blog.show(told("d"), told("c"), told("b"), told("a"))
    blog.read(10)
    assert own_words(blog, "d") == "Wax it is."
    assert blog.feed.boilerplate_end.strip() == "The post \x1a appeared first on Bees."


def test_what_a_hub_pushes_alone_is_known_by_the_last_reading(blog: Blog) -> None:
    blog.show(told("c"), told("b"), told("a"))
    blog.watch()
    blog.read(0)
    push(blog, 5, told("e"))
    assert own_words(blog, "e") == "Honey now."


def test_previews_and_posts_that_are_sent_after_all_have_it(blog: Blog) -> None:
    blog.show(told("c"), told("b"), told("a"))
    blog.watch()
    blog.read(0)
    (first,) = present_entries(blog.feed, 1)
    assert any(first.boilerplate)
    include_item(item_id=blog.item("a").pk, now=at(10))
    assert own_words(blog, "a") == "One bee."


def test_a_feed_of_two_posts_has_none(blog: Blog) -> None:
    blog.show(told("a"))
    blog.watch()
    blog.read(0)
    blog.show(told("b"), told("a"))
    blog.read(10)
    assert "boilerplate" not in (blog.item("b").entry or {})
