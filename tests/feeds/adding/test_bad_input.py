"""Bad documents end in a clear message on the feed, affect no other feed, and lose nothing."""

from functools import partial
from typing import Any

import pytest

from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.parsing import entry
from feeds.polling.poll import poll_due
from tests.examples import NIGHTLY, some_now
from tests.feeds.watched import ADDED, Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

PAGE = "<!DOCTYPE html><html><head><title>A page</title></head><body>Hello</body></html>"
BAD: dict[str, tuple[bytes | str, dict[str, Any], str]] = {
    "no feed": ("Just words.", {}, "neither RSS nor Atom"),
    "JSON": ('{"posts": []}', {}, "answers JSON"),
    "HTML": (PAGE, {}, "is a web page, not a feed"),
    "empty": ("", {}, "answers with nothing"),
    "404": ("Not found", {"status": 404}, "There is nothing at this address (HTTP 404)"),
    "401": ("Who?", {"status": 401}, "does not let us read"),
    "429": ("Slower", {"status": 429}, "ask too often"),
    "500": ("Oops", {"status": 500}, "an error (HTTP 500)"),
    "10 MB": (b"<rss>" + b"x" * 10_000_000, {}, "larger than 5 MB"),
    "broken XML": ("<rss><channel><title>A<item><<guid", {}, "too broken to be read"),
}


@pytest.mark.parametrize("name", some_now(BAD))
def test_a_document_that_cannot_be_read_is_told_on_the_feed(name: str, blog: Blog) -> None:
    body, reply, said = BAD[name]
    blog.show("waiting", "old")
    blog.watch(start="all")
    blog.read(0)
    blog.serve(body, **reply)
    healthy = Blog(blog.server, "/healthy.xml")
    healthy.show("fine")
    healthy.watch(start="all")
    results = poll_due(clock=lambda: at(31), ignore_due=True)
    assert sorted(result.ok for result in results) == [False, True]
    blog.feed.refresh_from_db()
    assert said in blog.feed.last_error
    assert len(blog.feed.last_error) < 300
    assert (blog.feed.health, blog.feed.failures, blog.feed.fetched_through) == ("failing", 1, at(0))
    assert healthy.states() == {"fine": "unassigned"}
    blog.show("waiting", "old")
    assert blog.read(60).final == 2, "nothing was lost"
    assert (blog.feed.health, blog.feed.last_error, blog.feed.failing_since) == ("active", "", None)


@pytest.mark.parametrize("step", ["parsed", "cleaned"])
def test_a_document_that_costs_too_much_of_the_processor_is_told_on_the_feed_which_backs_off(
    blog: Blog, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    blog.show("waiting", "old")
    blog.watch(start="all")
    with monkeypatch.context() as patched:
        if step == "parsed":
            patched.setattr(entry, "PROCESSOR_SECONDS", 0.0)
        else:
            patched.setattr(entry, "cpu_limit", partial(entry.cpu_limit, 0.0))
        assert not blog.poll(0).ok
    assert "seconds of the processor" in blog.feed.last_error
    assert (blog.feed.failures, blog.feed.next_poll_why) == (1, "backoff")
    assert blog.read(60).new == 2


def test_a_private_address_is_refused_by_default(db: None) -> None:
    with FeedServer() as server:
        server.serve("/feed.xml", rss([post("a")]))
        feed = add_feed(url=server.url("/feed.xml"), now=ADDED)
        (result,) = poll_due(clock=lambda: at(0))
        assert server.requests == []
    feed.refresh_from_db()
    assert not result.ok
    assert feed.last_error == result.error
    assert "127.0.0.1 is not a public address" in result.error
    assert "ALLOW_PRIVATE_NETWORKS" in result.error


def read(blog: Blog, *posts: dict[str, Any]) -> Feed:
    blog.show(*posts)
    blog.watch(start="all")
    blog.read(0)
    return blog.feed


def test_posts_with_one_guid_are_told_apart_by_their_titles_and_the_feed_says_so(blog: Blog) -> None:
    feed = read(blog, post("a", title="First"), post("a", title="Second"), post("b"))
    assert len(blog.states()) == 3
    assert blog.item("a").title == "First"
    assert feed.warning == "1 post with the guid or link of another, told apart by title."


def test_of_posts_with_one_guid_and_title_the_first_counts_and_the_feed_says_so(blog: Blog) -> None:
    feed = read(blog, post("a", title="One"), post("a", title="One"), post("b"))
    assert blog.states().keys() == {"a", "b"}
    assert feed.warning == "1 post with the guid of an earlier one; the first one counts."


def test_posts_without_a_guid_are_known_by_link_or_title_and_one_with_nothing_is_passed_over(
    blog: Blog,
) -> None:
    nameless = {"description": "Neither guid nor link nor title."}
    feed = read(blog, {"link": "https://blog.example.org/1"}, {"title": "Only a title"}, nameless)
    assert len(blog.states()) == 2
    assert "without guid, link, title and date" in feed.warning
    assert blog.read(10).new == 0
    blog.show({"title": "Only a title"}, {"link": "https://blog.example.org/1"})
    assert blog.read(20).new == 0, "the same ones again"


def test_a_missing_an_unreadable_and_a_future_date_neither_delay_nor_exclude(blog: Blog) -> None:
    read(blog, post("none"))
    blog.show(post("odd", published="soonish"), post("future", published=at(10**6)), post("none"))
    assert blog.read(10).new == 2
    blog.read(41)
    assert blog.final() == {"none", "odd", "future"}
    assert blog.item("odd").published_at is None


def test_titles_guids_and_links_of_any_length_are_kept_apart(blog: Blog) -> None:
    long = "https://blog.example.org/" + "x" * 10_000
    posts = [post(long + end, link=long + end, title="t" * 10_000 + end) for end in "ab"]
    read(blog, *posts, post("y" * 3_900 + "1"), post("y" * 3_900 + "2"))
    assert len(blog.states()) == 4
    assert all(len(item.title) <= 1_000 for item in Item.objects.all())
    assert blog.read(10).new == 0


@pytest.mark.parametrize("nul", ["\x00", "&#0;", "\x01", "&#1;", "\x1b", "&#xFFFE;"])
def test_nul_and_control_characters_are_left_out(nul: str, blog: Blog) -> None:
    marker = "MARK"
    body = rss([post(f"g{marker}1", title=f"T{marker}", content=f"<p>c{marker}</p>")], title=f"B{marker}")
    blog.serve(
        body.replace(marker.encode(), nul.encode()), headers={"Content-Type": "text/xml;\x00 charset=utf-8"}
    )
    blog.watch(start="all")
    blog.read(0)
    item = Item.objects.get()
    assert (item.guid, item.title, blog.feed.title) == ("g1", "T", "B")
    assert item.entry is not None
    assert item.entry["content"] == "<p>c</p>"


@pytest.mark.slow
@pytest.mark.parametrize("count", [2_000, pytest.param(30_000, marks=NIGHTLY)])
def test_of_very_many_posts_all_are_known_and_the_newest_500_can_be_sent(count: int, blog: Blog) -> None:
    def document(last: int) -> str:
        items = "".join(f"<item><guid>{number}</guid></item>" for number in range(last, 0, -1))
        return f"<rss version='2.0'><channel><title>Big</title>{items}</channel></rss>"

    blog.serve(document(count))
    blog.watch(start="all")
    assert blog.read(0).new == 500
    assert Item.objects.count() == count
    assert blog.feed.warning == f"The feed has {count} posts; the newest 500 are read in full."
    blog.serve(document(count + 1))
    result = blog.read(31)
    assert (result.new, result.excluded, result.vanished) == (1, 0, 0)
    assert Item.objects.count() == count + 1
