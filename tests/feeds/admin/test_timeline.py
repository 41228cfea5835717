"""A feed's page: its rhythm, its server's responses, and its readings."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from common.admin.html import block
from common.clock import utcnow
from feeds.admin.timeline import answer, at_a_glance, latency_words, poll_words, read_again, timeline
from feeds.models import Feed
from tests.console import json_of, printed, refused
from tests.factories import NOW, FeedFactory, ItemFactory, PollFactory

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
FAILED = {"outcome": "failed", "status": 503, "note": "The server is busy.", "next_poll_why": "backoff"}


@pytest.fixture
def feed() -> Feed:
    feed: Feed = FeedFactory()
    return feed


def words(html: str) -> str:
    """Return the text of a page, with white space collapsed."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_quiet_readings_are_one_line_with_their_average(feed: Feed) -> None:
    for number in range(23):
        PollFactory(feed=feed, at=NOW + number * 10 * MINUTE, duration_ms=11 + number % 3)
    said = words(block(timeline(feed)))
    assert "23 readings, nothing new 304 Not Modified about 12 ms after 10 minutes: its interval" in said
    assert "2 Mar, 12:00 to 15:40" in said


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"new": 3, "changed": 1, "outcome": "read"}, "3 new posts, 1 changed"),
        ({"vanished": 1, "final": 2}, "1 withdrawn, 2 settled"),
        ({"new": 12, "held": 12}, "12 new posts, 12 held for you"),
        ({}, "nothing new"),
        (FAILED, "failed"),
        ({"origin": "push", "new": 1}, "told by its hub: 1 new post"),
    ],
)
def test_a_reading_says_what_it_brought(feed: Feed, facts: dict[str, Any], said: str) -> None:
    assert poll_words(PollFactory(feed=feed, **facts)) == said


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"status": 200}, "200 OK"),
        ({"status": 503}, "503 Service Unavailable"),
        ({"status": 599}, "599"),
        ({"status": None}, "no answer"),
        ({"status": None, "origin": "push"}, "a push"),
    ],
)
def test_an_answer_is_said_by_its_number_and_name(feed: Feed, facts: dict[str, Any], said: str) -> None:
    assert answer(PollFactory(feed=feed, **facts)) == said


def test_a_reading_says_when_it_was_to_be_read_again_and_why(feed: Feed) -> None:
    poll = PollFactory(feed=feed, next_poll_at=NOW + 120 * MINUTE, next_poll_why="rhythm")
    assert read_again(poll) == "after 2 hours: its rhythm"
    assert read_again(PollFactory(feed=feed, next_poll_at=NOW, next_poll_why="")) == "at once"


def test_what_was_wrong_is_shown_and_escaped(feed: Feed) -> None:
    PollFactory(feed=feed, **{**FAILED, "note": "<script>x</script>"})
    html = block(timeline(feed))
    assert "fl-dot-bad" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html


def test_older_readings_are_folded_away_and_the_page_stays_bounded(feed: Feed) -> None:
    for number in range(100):
        PollFactory(feed=feed, at=NOW + number * MINUTE, new=1, outcome="read")
    html = block(timeline(feed))
    assert "<summary>98 older readings</summary>" in html
    assert html.count("<tr>") == 2 + 60 + 2
    assert "38 readings before that not shown" in html


def test_a_feed_that_was_never_read_says_so(feed: Feed) -> None:
    assert "Not read yet." in block(timeline(feed))
    assert "Not read yet." in block(at_a_glance(feed))


def test_the_plots_say_their_numbers_in_words(feed: Feed) -> None:
    for weeks in range(1, 6):
        ItemFactory.create_batch(3, feed=feed, published_at=utcnow() - (7 * weeks + 1) * DAY)
    PollFactory.create_batch(5, feed=feed, at=utcnow() - MINUTE, duration_ms=80)
    html = block(at_a_glance(feed))
    assert html.count('role="img"') == 2
    assert "none so far this week, 3 at most" in html
    assert "80\N{NO-BREAK SPACE}ms usually, none failed" in html


def test_failures_are_counted_apart_and_do_not_lengthen_the_usual_time(feed: Feed) -> None:
    polls = [PollFactory(feed=feed, duration_ms=ms) for ms in (10, 20, 30)]
    polls.append(PollFactory(feed=feed, **FAILED, duration_ms=20_000))
    PollFactory(feed=feed, duration_ms=20)
    assert latency_words(polls) == "20\N{NO-BREAK SPACE}ms usually, 1 failed"
    assert latency_words(polls[3:]) == "1 failed"
    assert "fl-bad" in block(at_a_glance(feed))


def test_the_questions_are_three_whatever_is_stored(feed: Feed) -> None:
    for number in range(30):
        PollFactory(feed=feed, at=NOW + number * MINUTE, new=number % 2)
        ItemFactory(feed=feed)
    with CaptureQueriesContext(connection) as asked:
        block(at_a_glance(feed))
        block(timeline(feed))
    assert len(asked) == 3


def test_the_page_of_a_feed_shows_it_and_asks_no_more_for_more(admin_client: Client, feed: Feed) -> None:
    url = reverse("admin:feeds_feed_change", args=[feed.pk])

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            page = admin_client.get(url).content.decode()
        assert "At a glance" in page
        assert "Readings" in page
        return len(queries)

    PollFactory(feed=feed)
    ItemFactory(feed=feed)
    asked()
    few = asked()
    for number in range(20):
        PollFactory(feed=feed, at=NOW + number * MINUTE, new=1)
        ItemFactory(feed=feed)
    assert asked() == few


def test_show_feed_tells_the_state_the_next_reading_and_the_last_ones(feed: Feed) -> None:
    Feed.objects.filter(pk=feed.pk).update(next_poll_at=utcnow() + 61 * MINUTE, next_poll_why="rhythm")
    PollFactory(feed=feed, new=2, outcome="read", status=200, bytes=900)
    said = printed("show_feed", str(feed.pk))
    assert re.search(r"next_reading +In 1 hour: this matches how often it publishes\.", said)
    assert re.search(r"2026-03-02T12:00:00\+00:00 +read +200 +900 +12 +2 +0", said)


def test_show_feed_gives_programs_all_of_it(feed: Feed) -> None:
    for number in range(5):
        PollFactory(feed=feed, at=NOW + number * MINUTE)
    facts = json_of("show_feed", str(feed.pk), "--readings", "3")
    assert (facts["id"], facts["status"], facts["next_poll_why"]) == (feed.pk, "active", "")
    assert [row["at"][:16] for row in facts["readings"]] == [f"2026-03-02T12:0{n}" for n in (4, 3, 2)]
    assert facts["readings"][0]["next_poll_why"] == "interval"


def test_show_feed_of_a_new_feed_and_of_none(feed: Feed) -> None:
    assert "Not read yet." in printed("show_feed", str(feed.pk))
    assert "list_feeds" in refused("show_feed", "999999")
