from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from feeds.models import Feed
from tests.console import json_of, printed, refused
from tests.factories import FeedFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db
POSTS = [{"guid": f"g{n}", "title": f"Post {n}", "link": f"https://x.test/{n}"} for n in (3, 2, 1)]
FEED_KEYS = ["id", "url", "title", "status", "last_polled_at", "next_poll_at", "last_error"]


@pytest.fixture
def server(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as server:
        server.serve("/feed.xml", rss(POSTS, title="Blog"), headers={"Content-Type": "application/rss+xml"})
        yield server


@pytest.mark.parametrize(
    ("options", "excluded"), [([], 3), (["--from-now"], 3), (["--last", "1"], 2), (["--all"], 0)]
)
def test_add_feed_reads_it_and_says_what_is_excluded(
    server: FeedServer, options: list[str], excluded: int
) -> None:
    url = server.url("/feed.xml")
    added = json_of("add_feed", url, *options)
    assert added == {"id": Feed.objects.get().pk, "url": url, "title": "Blog", "items_excluded": excluded}


def test_ping_sets_all_timings_to_zero(server: FeedServer) -> None:
    json_of("add_feed", server.url("/feed.xml"), "--ping")
    feed = Feed.objects.get()
    assert (feed.min_delay_minutes, feed.await_stabilization_minutes) == (0, 0)
    assert (feed.max_delay_minutes, feed.recheck_every_minutes) == (0, 0)


def test_timings_are_taken(server: FeedServer) -> None:
    least = "--min-delay-minutes 1 --await-stabilization-minutes 2"
    most = "--max-delay-minutes 3 --recheck-every-minutes 4"
    json_of("add_feed", server.url("/feed.xml"), *f"{least} {most}".split())
    feed = Feed.objects.get()
    assert (feed.min_delay_minutes, feed.await_stabilization_minutes) == (1, 2)
    assert (feed.max_delay_minutes, feed.recheck_every_minutes) == (3, 4)


def test_a_feed_that_cannot_be_read_yet_is_kept_and_said(server: FeedServer) -> None:
    said = refused("add_feed", server.url("/gone.xml"))
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


def test_poll_reads_what_is_due_and_a_failure_is_no_failure_of_the_command(server: FeedServer) -> None:
    good = FeedFactory(url=server.url("/feed.xml"))
    bad = FeedFactory(url=server.url("/gone.xml"))
    FeedFactory(url=server.url("/feed.xml?later"), next_poll_at=datetime(2999, 1, 1, tzinfo=UTC))
    done: dict[str, Any] = json_of("poll")
    assert (done["polled"], done["failed"]) == (2, 1)
    assert {one["feed_id"]: one["ok"] for one in done["feeds"]} == {good.pk: True, bad.pk: False}


def test_poll_counts_posts_that_only_readers_get(server: FeedServer) -> None:
    FeedFactory(url=server.url("/feed.xml"), for_letters=False)
    assert printed("poll") == "Read 1 feed: 0 new posts, 0 changed, 3 not for newsletters.\n"


def test_poll_all_ignores_when_a_feed_is_due(server: FeedServer) -> None:
    FeedFactory(url=server.url("/feed.xml"), next_poll_at=datetime(2999, 1, 1, tzinfo=UTC))
    assert json_of("poll")["polled"] == 0
    assert json_of("poll", "--all")["polled"] == 1
