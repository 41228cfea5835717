"""A feed's hub on its page."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from common.admin.html import block
from feeds.admin.feed import can_ask, hub
from feeds.models import Feed, HubSubscription
from tests.factories import FeedDocumentFactory, FeedFactory

pytestmark = pytest.mark.django_db
HUB = "https://hub.example/<b>"


@pytest.fixture(autouse=True)
def public(settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"


@pytest.fixture
def feed() -> Any:
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


def test_a_feed_without_a_hub_has_no_panel() -> None:
    assert block(hub(FeedFactory())) == ""


def test_before_it_is_asked_the_page_says_when_and_why_not(feed: Feed, settings: Any) -> None:
    assert "after the feed’s next reading" in block(hub(feed))
    feed.use_hub = False
    assert "” is off" in block(hub(feed))
    feed.use_hub, settings.SITE_URL = True, "http://127.0.0.1:8000"
    assert "it can’t reach SITE_URL (http://127.0.0.1:8000)" in block(hub(feed))
    feed.status = "paused"
    assert block(hub(feed)) == ""


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
def test_how_it_stands_is_said_in_a_sentence(feed: Feed, changes: dict[str, Any], said: str) -> None:
    subscribed(feed, **changes)
    assert said in block(hub(feed))
    assert "<b>" not in block(hub(feed))


def test_the_hub_is_asked_again_by_a_button(feed: Feed, admin_client: Client) -> None:
    assert not can_ask(feed)
    row = subscribed(feed, state="denied", failures=0)
    assert can_ask(feed)
    page = f"/admin/feeds/feed/{feed.pk}/change/"
    assert "Ask the hub again" in admin_client.get(page).content.decode()
    answer = admin_client.post(
        "/admin/feeds/feed/",
        {"action": "ask_hub", "_selected_action": [feed.pk], "_on_page": feed.pk},
        follow=True,
    )
    assert "1 hub will be asked within a minute." in answer.content.decode()
    row.refresh_from_db()
    assert row.next_at <= timezone.now()
