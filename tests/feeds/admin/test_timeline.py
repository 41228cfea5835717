"""A feed's page: its rhythm, its server's responses, and its readings.

A feed's hub on its page.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from common.admin.html import block
from common.clock import utcnow
from feeds.admin.feed import can_ask, hub
from feeds.admin.timeline import answer, at_a_glance, latency_words, poll_words, read_again, timeline
from feeds.models import Feed, HubSubscription
from tests.console import json_of, printed, refused
from tests.factories import NOW, FeedDocumentFactory, FeedFactory, ItemFactory, PollFactory

HUB = "https://hub.example/<b>"
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


@pytest.fixture
def public(settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"


@pytest.fixture
def hub_feed() -> Any:
    """Return a feed that names a hub without a subscription yet."""
    feed = FeedFactory()
    FeedDocumentFactory(feed=feed, channel={"hubs": [HUB], "topic": feed.url})
    return feed


def subscribed(feed: Feed, **changes: Any) -> HubSubscription:
    now = timezone.now()
    facts = {"state": "active", "expires_at": now + timedelta(days=9), "next_at": now + timedelta(hours=2)}
    return HubSubscription.objects.create(
        feed=feed, hub=HUB, topic=feed.url, token="t" * 43, **{**facts, **changes}
    )


@pytest.mark.usefixtures("public")
def test_a_feed_without_a_hub_has_no_panel() -> None:
    assert block(hub(FeedFactory())) == ""


@pytest.mark.usefixtures("public")
def test_before_it_is_asked_the_page_says_when_and_why_not(hub_feed: Feed, settings: Any) -> None:
    assert "after the feed’s next reading" in block(hub(hub_feed))
    hub_feed.use_hub = False
    assert "” is off" in block(hub(hub_feed))
    hub_feed.use_hub, settings.SITE_URL = True, "http://127.0.0.1:8000"
    assert "it can’t reach SITE_URL (http://127.0.0.1:8000)" in block(hub(hub_feed))
    hub_feed.status = "paused"
    assert block(hub(hub_feed)) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "New posts are pushed when they are published"),
        ({"missed": 2}, "Until it works again, the feed is read as if it had no hub"),
        (
            {"state": "denied", "last_error": "We <i>know</i> you."},
            "“We &lt;i&gt;know&lt;/i&gt; you”. We ask again",
        ),
        ({"state": "denied"}, "The hub refused to push this feed. We ask again in 1 hour"),
        ({"state": "pending", "expires_at": None, "failures": 2}, "2 times; it hasn’t called back yet"),
        ({"state": "pending", "expires_at": None, "last_error": "HTTP 500"}, "HTTP 500"),
        ({"refused": 1}, "1 push with a wrong or no signature"),
        ({"state": "wanted", "expires_at": None, "next_at": timezone.now()}, "within a minute"),
    ],
)
@pytest.mark.usefixtures("public")
def test_how_it_stands_is_said_in_a_sentence(hub_feed: Feed, changes: dict[str, Any], said: str) -> None:
    subscribed(hub_feed, **changes)
    assert said in block(hub(hub_feed))
    assert "<b>" not in block(hub(hub_feed))


@pytest.mark.usefixtures("public")
def test_the_hub_is_asked_again_by_a_button(hub_feed: Feed, admin_client: Client) -> None:
    assert not can_ask(hub_feed)
    row = subscribed(hub_feed, state="denied", failures=0)
    assert can_ask(hub_feed)
    page = f"/admin/feeds/feed/{hub_feed.pk}/change/"
    assert "Ask the hub again" in admin_client.get(page).content.decode()
    answer = admin_client.post(
        "/admin/feeds/feed/",
        {"action": "ask_hub", "_selected_action": [hub_feed.pk], "_on_page": hub_feed.pk},
        follow=True,
    )
    assert "1 hub will be asked within a minute." in answer.content.decode()
    row.refresh_from_db()
    assert row.next_at <= timezone.now()
