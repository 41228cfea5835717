"""Commands about feeds.

Finding feeds and forecasting readings from the command line.
`import_opml` and `export_opml`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.parsing.opml import parse_opml
from tests.console import json_of, printed, refused
from tests.factories import NOW, FeedFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

HTML = {"Content-Type": "text/html"}
FEED = '<link rel="alternate" type="application/rss+xml" title="{0}" href="/{0}.xml">'
pytestmark = pytest.mark.django_db
POSTS = [{"guid": f"g{n}", "title": f"Post {n}", "link": f"https://x.test/{n}"} for n in (3, 2, 1)]
FEED_KEYS = ["id", "url", "title", "status", "last_polled_at", "next_poll_at", "last_error"]


@pytest.fixture
def feeds(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as server:
        server.serve("/feed.xml", rss(POSTS, title="Blog"), headers={"Content-Type": "application/rss+xml"})
        yield server


@pytest.mark.parametrize(
    ("options", "excluded"), [([], 3), (["--from-now"], 3), (["--last", "1"], 2), (["--all"], 0)]
)
def test_add_feed_reads_it_and_says_what_is_excluded(
    feeds: FeedServer, options: list[str], excluded: int
) -> None:
    url = feeds.url("/feed.xml")
    added = json_of("add_feed", url, *options)
    assert added == {"id": Feed.objects.get().pk, "url": url, "title": "Blog", "items_excluded": excluded}


def test_ping_sets_all_timings_to_zero(feeds: FeedServer) -> None:
    json_of("add_feed", feeds.url("/feed.xml"), "--ping")
    feed = Feed.objects.get()
    assert (feed.min_delay_minutes, feed.await_stabilization_minutes) == (0, 0)
    assert (feed.max_delay_minutes, feed.recheck_every_minutes) == (0, 0)


def test_timings_are_taken(feeds: FeedServer) -> None:
    least = "--min-delay-minutes 1 --await-stabilization-minutes 2"
    most = "--max-delay-minutes 3 --recheck-every-minutes 4"
    json_of("add_feed", feeds.url("/feed.xml"), *f"{least} {most}".split())
    feed = Feed.objects.get()
    assert (feed.min_delay_minutes, feed.await_stabilization_minutes) == (1, 2)
    assert (feed.max_delay_minutes, feed.recheck_every_minutes) == (3, 4)


def test_a_feed_that_cannot_be_read_yet_is_kept_and_said(feeds: FeedServer) -> None:
    said = refused("add_feed", feeds.url("/gone.xml"))
    feed = Feed.objects.get()
    assert said.startswith(f"The feed was added as {feed.pk} but could not be read yet: ")
    assert feed.last_error in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-address",), "URL: Give an address that begins with http"),
        (("https://x.test/", "--ping", "--min-delay-minutes", "5"), "--ping sets all four timings to 0"),
        (("https://x.test/", "--min-delay-minutes", "500"), "--max-delay-minutes: The longest delay"),
        (("https://x.test/", "--last", "0"), "give a whole number, 1 or more"),
        (("https://x.test/", "--all", "--from-now"), "not allowed with"),
    ],
)
def test_wrong_arguments_add_nothing(words: tuple[str, ...], said: str) -> None:
    assert said in refused("add_feed", *words)
    assert not Feed.objects.exists()


def test_lists_go_on_after_an_id() -> None:
    first, second, third = FeedFactory.create_batch(3)
    assert [row["id"] for row in json_of("list_feeds", "--limit", "2")] == [first.pk, second.pk]
    assert [row["id"] for row in json_of("list_feeds", "--after", str(second.pk))] == [third.pk]


def test_alter_feed_changes_what_was_given_and_nothing_else() -> None:
    feed = FeedFactory(title="Old")
    row = json_of(
        "alter_feed", str(feed.pk), "--title", "New", "--status", "paused", "--max-delay-minutes", "60"
    )
    assert (list(row), row["title"], row["status"]) == (FEED_KEYS, "New", "paused")
    feed.refresh_from_db()
    assert (feed.max_delay_minutes, feed.min_delay_minutes) == (60, 30)


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "There is nothing to change"), (("--max-delay-minutes", "1"), "--max-delay-minutes: ")],
)
def test_alter_feed_refuses(words: tuple[str, ...], said: str) -> None:
    assert refused("alter_feed", str(FeedFactory().pk), *words).startswith(said)


def test_poll_reads_what_is_due_and_a_failure_is_no_failure_of_the_command(feeds: FeedServer) -> None:
    good = FeedFactory(url=feeds.url("/feed.xml"))
    bad = FeedFactory(url=feeds.url("/gone.xml"))
    FeedFactory(url=feeds.url("/feed.xml?later"), next_poll_at=datetime(2999, 1, 1, tzinfo=UTC))
    done: dict[str, Any] = json_of("poll")
    assert (done["polled"], done["failed"]) == (2, 1)
    assert {one["feed_id"]: one["ok"] for one in done["feeds"]} == {good.pk: True, bad.pk: False}


def test_poll_counts_posts_that_only_readers_get(feeds: FeedServer) -> None:
    FeedFactory(url=feeds.url("/feed.xml"), for_letters=False)
    assert printed("poll") == "Read 1 feed: 0 new posts, 0 changed, 3 not for newsletters.\n"


def test_poll_all_ignores_when_a_feed_is_due(feeds: FeedServer) -> None:
    FeedFactory(url=feeds.url("/feed.xml"), next_poll_at=datetime(2999, 1, 1, tzinfo=UTC))
    assert json_of("poll")["polled"] == 0
    assert json_of("poll", "--all")["polled"] == 1


def document(name: str) -> bytes:
    return rss([{"guid": name, "title": f"Post of {name}", "published": NOW}], title=name.title())


@pytest.fixture
def pages(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as running:
        for name in ("news", "all", "comments"):
            running.serve(f"/{name}.xml", document(name))
        running.serve("/one", f"<html>{FEED.format('news')}{FEED.format('comments')}", headers=HTML)
        running.serve("/two", f"<html>{FEED.format('news')}{FEED.format('all')}", headers=HTML)
        running.serve("/none", "<html>Nothing", headers=HTML)
        yield running


def test_find_feeds_lists_what_there_is_the_best_first(pages: FeedServer) -> None:
    watched = FeedFactory(url=pages.url("/comments.xml"))
    first, second = json_of("find_feeds", pages.url("/one"))
    assert first == {
        "url": pages.url("/news.xml"),
        "title": "News",
        "format": "RSS 2.0",
        "posts": 1,
        "newest": "2026-03-02T12:00:00+00:00",
        "comments": False,
        "watched_by": None,
        "warnings": [],
    }
    assert (second["comments"], second["watched_by"]) == (True, watched.pk)
    assert Feed.objects.count() == 1
    assert "News" in printed("find_feeds", pages.url("/one"))


def test_find_feeds_says_when_there_are_none(pages: FeedServer) -> None:
    assert refused("find_feeds", pages.url("/none")).startswith("This page names no feed")
    assert refused("find_feeds", "ftp://x.test/").startswith("URL: Give an address")


def test_add_feed_takes_a_page_with_one_feed_of_posts(pages: FeedServer) -> None:
    added = json_of("add_feed", pages.url("/one"))
    assert added == {
        "id": Feed.objects.get().pk,
        "url": pages.url("/news.xml"),
        "title": "News",
        "items_excluded": 1,
    }


def test_add_feed_asks_for_one_of_several(pages: FeedServer) -> None:
    said = refused("add_feed", pages.url("/two"))
    assert said.startswith("The page has several feeds. Give the address of one of them: ")
    assert pages.url("/news.xml") in said
    assert pages.url("/all.xml") in said
    assert not Feed.objects.exists()


def test_add_feed_adds_nothing_for_a_page_without_feeds(pages: FeedServer) -> None:
    assert refused("add_feed", pages.url("/none")).startswith("This page names no feed")
    assert not Feed.objects.exists()


def test_add_feed_takes_an_address_without_its_scheme(pages: FeedServer) -> None:
    added = json_of("add_feed", f"127.0.0.1:{pages.port}/news.xml")
    assert added["url"] == pages.url("/news.xml")


def test_add_feed_keeps_the_address_of_a_feed_as_it_was_given(pages: FeedServer) -> None:
    pages.redirect("/moved.xml", pages.url("/news.xml"), 301)
    assert json_of("add_feed", pages.url("/moved.xml"))["url"] == pages.url("/moved.xml")


def test_add_feed_gives_the_password_of_a_page_to_no_other_host(pages: FeedServer) -> None:
    with FeedServer() as other:
        feed = other.serve("/feed.xml", document("elsewhere"))
        pages.serve("/page", f'<html><link rel="feed" href="{feed}">', headers=HTML)
        json_of("add_feed", pages.url("/page").replace("http://", "http://ada:secret@"))
        assert not [request for request in other.requests if "authorization" in request.headers]
    assert not Feed.objects.get().credentials


def test_add_feed_takes_the_password_of_a_page_to_its_own_feed(pages: FeedServer) -> None:
    json_of("add_feed", pages.url("/one").replace("http://", "http://ada:secret@"))
    assert Feed.objects.get().url == pages.url("/news.xml")
    assert Feed.objects.get().credentials.open() == {"user": "ada", "password": "secret"}


def test_add_feed_keeps_what_cannot_be_reached_as_it_is_tried_again(pages: FeedServer) -> None:
    pages.serve("/busy.xml", "busy", status=503)
    assert "could not be read yet" in refused("add_feed", pages.url("/busy.xml"))
    assert Feed.objects.get().url == pages.url("/busy.xml")


def test_preview_feed_says_what_the_next_reading_would_do(pages: FeedServer) -> None:
    feed = json_of("add_feed", pages.url("/news.xml"))["id"]
    posts: list[dict[str, Any]] = [
        {"guid": "new", "title": "New"},
        {"guid": "news", "title": "Post of news", "published": NOW},
    ]
    pages.serve("/news.xml", rss(posts))
    done = json_of("preview_feed", str(feed))
    assert (done["id"], done["outcome"], done["http_status"]) == (feed, "read", 200)
    assert done["counts"] == {"new": 1, "unchanged": 1}
    new, old = done["items"]
    assert list(new) == ["id", "title", "published", "event", "settles_at", "sent", "why"]
    assert (new["id"], new["title"], new["event"]) == (None, "New", "new")
    assert old["sent"] == "Not sent: it was already in the feed when the feed was added."
    assert Item.objects.count() == 1
    shown = printed("preview_feed", str(feed))
    assert "The feed has changed since the last reading. Of its posts: 1 new." in shown


def test_preview_feed_says_what_was_wrong(pages: FeedServer) -> None:
    feed = FeedFactory(url=pages.url("/gone.xml"))
    assert refused("preview_feed", str(feed.pk)).startswith(f"Feed {feed.pk} could not be read: ")
    assert refused("preview_feed", "99").startswith("There is no feed 99.")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "feeds.opml"
    path.write_text(
        '<opml version="2.0"><body><outline text="News">\n'
        '<outline text="A" xmlUrl="https://a.test/"/><outline text="A again" xmlUrl="https://a.test/"/>\n'
        '<outline text="B" xmlUrl="https://b.test/"/></outline>\n'
        '<outline text="C" xmlUrl="gopher://c.test/"/></body></opml>'
    )
    return str(path)


def test_the_report_says_what_was_done(file: str) -> None:
    add_feed(url="https://b.test/", now=NOW)
    reason = "Give an address that begins with http:// or https://."
    expected = {
        "added": 1,
        "known": 1,
        "tagged": 1,
        "repeated": 1,
        "refused": [{"line": 4, "title": "C", "reason": reason}],
        "changed": [],
    }
    assert json_of("import_opml", file, "--dry-run") == {**expected, "dry_run": True}
    assert Feed.objects.count() == 1
    assert json_of("import_opml", file, "--tag", "mine") == {**expected, "dry_run": False}
    assert [tag.name for tag in Feed.objects.get(url="https://a.test/").tags.all()] == ["News", "mine"]
    assert json_of("import_opml", file) == {**expected, "added": 0, "known": 2, "tagged": 0, "dry_run": False}


def test_people_read_sentences(file: str) -> None:
    said = printed("import_opml", file, "--dry-run")
    assert said.startswith("2 feeds would be added, 0 there already, 1 twice in the file, 1 refused.\n")
    assert "Line 4: C: Give an address" in said
    assert printed("import_opml", file).startswith("2 feeds added, ")


def test_half_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "half.opml"
    path.write_text('<opml><body><outline xmlUrl="https://a.test/"/>')
    assert "The file is not well-formed XML" in printed("import_opml", str(path))
    assert Feed.objects.count() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere.opml"], "/nowhere.opml cannot be read: No such file"),
        (["FILE", "--tag", "a,b"], "--tag: A tag is"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(file: str, words: list[str], said: str) -> None:
    assert said in refused("import_opml", *(file if word == "FILE" else word for word in words))
    assert not Feed.objects.exists()


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<html></html>")
    assert "not an OPML file" in refused("import_opml", str(path))


def test_export_prints_or_writes_what_import_reads(tmp_path: Path) -> None:
    add_feed(url="https://ada:geheim@a.test/", now=NOW, tags=["News", "Zoë"], title="A & B")
    FeedFactory(url="https://b.test/")
    text = printed("export_opml")
    assert "geheim" not in text
    path = tmp_path / "out.opml"
    assert printed("export_opml", "--output", str(path)) == ""
    assert [one.url for one in parse_opml(path.read_bytes()).outlines] == [
        "https://a.test/",
        "https://b.test/",
    ]
    tagged = parse_opml(printed("export_opml", "--tag", "zoë").encode())
    assert [(one.title, one.tags) for one in tagged.outlines] == [("A & B", ("News", "Zoë"))]
    assert [row["url"] for row in json_of("export_opml")] == ["https://a.test/", "https://b.test/"]


def test_a_file_that_cannot_be_written_is_refused() -> None:
    assert "/nowhere/out.opml cannot be written: No such file" in refused(
        "export_opml", "--output", "/nowhere/out.opml"
    )
