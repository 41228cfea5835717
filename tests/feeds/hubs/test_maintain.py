"""Hub subscriptions from start to end; the hub is real, the test calls the callback."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction

from common.net.client import Fetched
from common.secrets import opened
from common.transactions import NetworkInTransaction
from feeds.adding.add import alter_feed
from feeds.hubs import subscriptions
from feeds.hubs.callbacks import confirm
from feeds.hubs.subscriptions import Outcome, ask_again, is_reachable, keep_hubs, send_due_request
from feeds.models import Feed, HubSubscription
from feeds.polling.record import live_among, noticed_by_poll
from tests.factories import NOW, FeedDocumentFactory, FeedFactory
from tests.servers.hub import Hub

pytestmark = pytest.mark.django_db
TOPIC = "https://blog.example/topic.xml"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def hub(loopback_allowed: None) -> Iterator[Hub]:
    """Run a hub that accepts requests and never calls back: the tests do that."""
    with Hub() as running:
        running.silent = True
        yield running


def feed_of(hub: Hub, **changes: Any) -> Any:
    feed = FeedFactory(**{"last_polled_at": NOW, "fetched_through": NOW, "first_polled_at": NOW, **changes})
    FeedDocumentFactory(feed=feed, channel={"hubs": [hub.url], "topic": TOPIC})
    return feed


def keep(at: datetime = NOW) -> int:
    return keep_hubs(clock=lambda: at)


def row_of(feed: Feed) -> HubSubscription:
    return HubSubscription.objects.get(feed=feed)


def verify(row: HubSubscription, at: datetime = NOW, mode: str = "subscribe", **said: str) -> bool:
    return confirm(token=row.token, now=at, **{"mode": mode, "topic": row.topic, **said})


def subscribed(hub: Hub, **changes: Any) -> Any:
    feed = feed_of(hub, **changes)
    keep()
    assert verify(row_of(feed))
    return feed


class TestAsking:
    def test_an_offer_becomes_a_request_with_all_that_the_hub_needs(self, hub: Hub, settings: Any) -> None:
        settings.SITE_URL = "https://letters.example.org"
        feed = feed_of(hub)
        assert keep() == 1
        row = row_of(feed)
        (asked,) = hub.asked
        secret = opened(row.secret)["secret"]
        assert asked == {
            "hub.mode": "subscribe",
            "hub.topic": TOPIC,
            "hub.callback": f"https://letters.example.org/websub/{row.token}/",
            "hub.secret": secret,
            "hub.lease_seconds": "864000",
        }
        assert (row.state, row.hub, row.topic, row.expires_at) == ("pending", hub.url, TOPIC, None)
        assert 40 <= len(secret) < 200
        assert len(row.token) >= 40

    def test_the_secret_is_encrypted_at_rest(self, hub: Hub) -> None:
        feed_of(hub)
        keep()
        with connection.cursor() as cursor:
            cursor.execute("SELECT secret FROM feeds_hubsubscription")
            assert hub.asked[0]["hub.secret"] not in cursor.fetchone()[0]

    def test_tokens_and_secrets_are_each_ones_own(self, hub: Hub) -> None:
        for _ in range(3):
            feed_of(hub)
        keep()
        assert len({asked["hub.callback"] for asked in hub.asked}) == 3
        assert len({asked["hub.secret"] for asked in hub.asked}) == 3

    def test_a_second_pass_asks_nothing(self, hub: Hub) -> None:
        feed_of(hub)
        assert [keep(), keep(), keep(NOW + timedelta(minutes=59))] == [1, 0, 0]
        assert HubSubscription.objects.count() == 1

    def test_what_is_not_verified_within_an_hour_is_asked_again_and_ever_less_often(self, hub: Hub) -> None:
        row = row_of_after(hub)
        waits = []
        for _ in range(8):
            before = row.next_at
            keep(before)
            row.refresh_from_db()
            waits.append(row.next_at - before)
        assert waits[0] > HOUR
        assert all(later >= 0.8 * sooner for sooner, later in pairwise(waits))
        assert max(waits) <= DAY * 1.1
        assert (row.state, row.failures) == ("pending", 9)

    @pytest.mark.parametrize("status", [400, 404, 500, 503])
    def test_a_refusal_is_told_in_the_hubs_words_and_tried_again(self, hub: Hub, status: int) -> None:
        hub.status, hub.text = status, "no such\ttopic\x00 " + "x" * 5000
        row = row_of_after(hub)
        assert row.last_error.startswith(f"The hub answered HTTP {status}: no such topic xxx")
        assert len(row.last_error) < 350
        assert timedelta(minutes=4) < row.next_at - NOW < timedelta(minutes=6)
        hub.status = 202
        keep(row.next_at)
        row.refresh_from_db()
        assert (row.last_error, len(hub.asked)) == ("", 2)

    def test_a_page_of_html_is_not_shown(self, hub: Hub) -> None:
        hub.status, hub.text, hub.headers = 500, "<h1>Oops</h1>", {"Content-Type": "text/html"}
        assert row_of_after(hub).last_error == "The hub answered HTTP 500."

    def test_a_hub_says_when_to_come_again(self, hub: Hub) -> None:
        hub.status, hub.headers = 503, {"Retry-After": "7200"}
        assert row_of_after(hub).next_at == NOW + 2 * HOUR

    def test_a_hub_that_cannot_be_reached_is_backed_off_from_up_to_a_day(self, hub: Hub) -> None:
        feed = feed_of(hub)
        hub.server.stop()
        keep()
        row = row_of(feed)
        assert "refuses connections" in row.last_error
        HubSubscription.objects.update(failures=40)
        keep(row.next_at)
        row.refresh_from_db()
        assert DAY * 0.8 < row.next_at - (NOW + timedelta(minutes=5)) < DAY * 1.2

    def test_a_hub_without_an_answer_holds_up_nobody_else(self, hub: Hub) -> None:
        with Hub() as other:
            other.silent = True
            dead = [feed_of(hub) for _ in range(3)]
            hub.server.stop()
            feed = feed_of(other)
            assert keep() == 2
            assert row_of(feed).state == "pending"
            assert sorted(row_of(one).failures for one in dead) == [0, 0, 1]

    def test_a_redirect_that_keeps_the_method_is_followed(self, hub: Hub) -> None:
        moved = hub.server.redirect("/old", hub.url, 308)
        feed = FeedFactory(last_polled_at=NOW)
        FeedDocumentFactory(feed=feed, channel={"hubs": [moved], "topic": TOPIC})
        keep()
        assert (hub.modes(), row_of(feed).last_error) == (["subscribe"], "")

    def test_a_private_address_is_refused(self, hub: Hub, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        settings.SITE_URL = "https://letters.example.org"
        row = row_of_after(hub)
        assert "not a public address" in row.last_error
        assert hub.asked == []

    def test_a_claim_is_taken_by_one_worker_only(self, hub: Hub) -> None:
        feed = feed_of(hub)
        keep()
        HubSubscription.objects.update(next_at=NOW)
        one, two = row_of(feed), row_of(feed)
        assert send_due_request(one, NOW) is not None
        assert send_due_request(two, NOW) is None
        assert len(hub.asked) == 2

    @pytest.mark.django_db
    def test_no_hub_is_called_within_a_transaction(self, hub: Hub) -> None:
        feed_of(hub)
        with transaction.atomic(), pytest.raises(NetworkInTransaction):
            keep()
        assert hub.asked == []


def row_of_after(hub: Hub) -> HubSubscription:
    feed = feed_of(hub)
    keep()
    return row_of(feed)


class TestVerifying:
    def test_a_verified_subscription_is_active_until_the_lease_ends(self, hub: Hub) -> None:
        row = row_of_after(hub)
        assert verify(row, NOW, lease="86400")
        row.refresh_from_db()
        assert (row.state, row.expires_at, row.failures) == ("active", NOW + DAY, 0)
        assert NOW + 0.75 * DAY <= row.next_at <= NOW + 0.85 * DAY

    def test_only_what_we_asked_for_is_verified(self, hub: Hub) -> None:
        row = row_of_after(hub)
        assert not verify(row, topic="https://other.example/")
        assert not verify(row, mode="unsubscribe")
        assert not verify(row, mode="publish")
        assert not confirm(token="x" * 43, mode="subscribe", topic=TOPIC, now=NOW)
        assert not confirm(token="\x00", mode="subscribe", topic=TOPIC, now=NOW)
        row.refresh_from_db()
        assert row.state == "pending"

    def test_nothing_is_verified_before_it_was_asked_for(self, hub: Hub) -> None:
        feed = feed_of(hub)
        row = HubSubscription.objects.create(feed=feed, hub=hub.url, topic=TOPIC, token="t" * 43, next_at=NOW)
        assert not verify(row)

    def test_renewal_is_asked_before_the_lease_ends_and_interrupts_nothing(self, hub: Hub) -> None:
        feed = subscribed(hub)
        row = row_of(feed)
        assert keep(row.next_at - timedelta(seconds=1)) == 0
        assert keep(row.next_at) == 1
        again = row_of(feed)
        assert hub.asked[0] == hub.asked[1]
        assert (again.state, again.expires_at) == ("pending", row.expires_at)
        assert live_among(feed_ids=[feed.pk], now=row.next_at)
        assert verify(again, row.next_at)
        assert row_of(feed).expires_at == row.next_at + 10 * DAY

    def test_a_renewal_that_fails_lets_the_lease_run_out(self, hub: Hub) -> None:
        feed = subscribed(hub)
        hub.status = 500
        row = row_of(feed)
        keep(row.next_at)
        assert row.expires_at is not None
        assert live_among(feed_ids=[feed.pk], now=row.expires_at - HOUR)
        assert not live_among(feed_ids=[feed.pk], now=row.expires_at)

    def test_a_denial_is_told_and_tried_again_after_a_week(self, hub: Hub) -> None:
        feed = subscribed(hub)
        assert verify(row_of(feed), mode="denied", reason="not\x00 on\u202e our list " + "x" * 5000)
        row = row_of(feed)
        assert (row.state, row.expires_at) == ("denied", None)
        assert row.last_error.startswith("not on our list xxx")
        assert len(row.last_error) <= 300
        assert not live_among(feed_ids=[feed.pk], now=NOW)
        assert [keep(NOW + 6 * DAY), keep(NOW + 7 * DAY)] == [0, 1]

    def test_a_verification_that_comes_before_the_answer_counts(
        self, hub: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Some hubs verify while we still wait for their response, which is recorded later."""
        feed = feed_of(hub)
        HubSubscription.objects.create(feed=feed, hub=hub.url, topic=TOPIC, token="t" * 43, next_at=NOW)

        class VerifyingHub:
            def post(self, url: str, **_: Any) -> Fetched:
                assert verify(row_of(feed))
                return Fetched(500, url, {}, b"")

        monkeypatch.setattr(subscriptions, "client", VerifyingHub)
        assert send_due_request(row_of(feed), NOW) == Outcome("The hub answered HTTP 500.")
        verified = row_of(feed)
        assert (verified.state, verified.last_error, verified.failures) == ("active", "", 0)
        assert verified.next_at > NOW + 7 * DAY


class TestLeaving:
    def test_a_dropped_feed_is_unsubscribed_and_the_row_goes_when_that_is_verified(self, hub: Hub) -> None:
        feed = subscribed(hub)
        row = row_of(feed)
        feed.delete()
        keep(NOW + HOUR)
        assert hub.modes() == ["subscribe", "unsubscribe"]
        assert hub.asked[1] == {
            "hub.mode": "unsubscribe",
            "hub.topic": TOPIC,
            "hub.callback": hub.asked[0]["hub.callback"],
        }
        row.refresh_from_db()
        assert row.state == "leaving"
        assert not verify(row)  # the hub now confirms an unwanted subscription
        assert verify(row, mode="unsubscribe")
        assert not HubSubscription.objects.exists()

    def test_after_three_tries_it_is_forgotten(self, hub: Hub) -> None:
        subscribed(hub).delete()
        for days in range(1, 5):
            keep(NOW + days * DAY)
        assert hub.modes() == ["subscribe", *["unsubscribe"] * 3]
        assert not HubSubscription.objects.exists()

    @pytest.mark.parametrize("change", [{"use_hub": False}, {"status": "paused"}, {"status": "stopped"}])
    def test_a_feed_that_shall_do_without_is_unsubscribed(self, hub: Hub, change: dict[str, Any]) -> None:
        feed = subscribed(hub)
        Feed.objects.filter(pk=feed.pk).update(**change)
        keep(NOW + HOUR)
        assert hub.modes() == ["subscribe", "unsubscribe"]
        assert not HubSubscription.objects.filter(feed=feed).exists()

    def test_what_no_hub_knows_of_is_just_deleted(self, hub: Hub) -> None:
        feed = feed_of(hub)
        HubSubscription.objects.create(feed=feed, hub=hub.url, topic=TOPIC, token="t" * 43, next_at=NOW)
        feed.delete()
        assert keep() == 0
        assert not HubSubscription.objects.exists()

    def test_another_hub_or_topic_replaces_the_old_one(self, hub: Hub) -> None:
        feed = subscribed(hub)
        old = row_of(feed)
        feed.document.channel = {"hubs": [hub.url], "topic": "https://blog.example/new"}
        feed.document.save()
        Feed.objects.filter(pk=feed.pk).update(last_polled_at=NOW + HOUR)
        keep(NOW + HOUR)
        new = row_of(feed)
        assert sorted((asked["hub.mode"], asked["hub.topic"]) for asked in hub.asked[1:]) == [
            ("subscribe", "https://blog.example/new"),
            ("unsubscribe", TOPIC),
        ]
        assert new.token != old.token
        old.refresh_from_db()
        assert (old.state, old.feed_id) == ("leaving", None)

    def test_a_document_that_names_no_hub_any_more_ends_it(self, hub: Hub) -> None:
        feed = subscribed(hub)
        feed.document.channel = {}
        feed.document.save()
        Feed.objects.filter(pk=feed.pk).update(last_polled_at=NOW + HOUR)
        keep(NOW + HOUR)
        assert hub.modes() == ["subscribe", "unsubscribe"]

    def test_a_topic_with_a_clock_in_it_is_followed_once_an_hour(self, hub: Hub) -> None:
        feed = subscribed(hub)
        for minutes in range(5, 120, 5):
            at = NOW + timedelta(minutes=minutes)
            feed.document.channel = {"hubs": [hub.url], "topic": f"{TOPIC}?{minutes}"}
            feed.document.save()
            Feed.objects.filter(pk=feed.pk).update(last_polled_at=at)
            keep(at)
        assert hub.modes().count("subscribe") == 2

    def test_a_feed_that_gets_another_address_leaves_at_once(self, hub: Hub) -> None:
        feed = subscribed(hub)
        alter_feed(feed=feed, url="https://blog.example/elsewhere.xml")
        assert not HubSubscription.objects.filter(feed=feed).exists()
        assert HubSubscription.objects.get().state == "leaving"


class TestWishes:
    def test_only_a_watched_feed_that_may_and_that_offers_one_gets_a_hub(self, hub: Hub) -> None:
        for one in ({"use_hub": False}, {"status": Feed.Status.PAUSED}):
            feed_of(hub, **one)
        FeedFactory(last_polled_at=NOW)
        feed = feed_of(hub)
        subscriptions.follow_offers(NOW)
        assert [row.feed for row in HubSubscription.objects.all()] == [feed]

    @pytest.mark.parametrize(
        ("site", "reachable"),
        [
            ("https://letters.example.org", True),
            ("http://93.184.215.14:8000", True),
            ("http://127.0.0.1:8000", False),
            ("http://localhost:8000", False),
            ("http://box.localhost", False),
            ("http://LOCALHOST.", False),
            ("http://[::1]:8000", False),
            ("http://192.168.1.5", False),
        ],
    )
    def test_no_hub_is_asked_in_vain(self, settings: Any, site: str, reachable: bool) -> None:
        settings.SITE_URL = site
        assert is_reachable() is reachable

    def test_without_a_public_address_nothing_is_asked(self, hub: Hub, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        feed_of(hub)
        assert keep() == 0
        assert not HubSubscription.objects.exists()

    def test_feeds_that_were_not_read_lately_cost_nothing(
        self, hub: Hub, django_assert_num_queries: Any
    ) -> None:
        feed_of(hub, last_polled_at=NOW - HOUR)
        with django_assert_num_queries(5):
            assert keep() == 0

    def test_ask_again_asks_at_the_next_pass_whatever_the_back_off(self, hub: Hub) -> None:
        feed = subscribed(hub)
        verify(row_of(feed), mode="denied", reason="no")
        assert ask_again(feeds=[feed.pk], now=NOW) == 1
        assert keep() == 1
        assert row_of(feed).state == "pending"

    def test_one_feed_with_nonsense_stops_nobody_else(self, hub: Hub) -> None:
        bad, good = feed_of(hub), feed_of(hub)
        bad.document.channel = {"hubs": [5], "topic": TOPIC}
        bad.document.save()
        assert keep() == 1
        assert row_of(good).state == "pending"


class TestSilence:
    def test_a_hub_that_missed_two_posts_counts_as_silent_and_is_asked_anew(self, hub: Hub) -> None:
        feed = subscribed(hub)
        noticed_by_poll(feed_id=feed.pk, moment=NOW + HOUR)
        assert live_among(feed_ids=[feed.pk], now=NOW + HOUR)
        assert keep(NOW + HOUR) == 0
        noticed_by_poll(feed_id=feed.pk, moment=NOW + 2 * HOUR)
        assert not live_among(feed_ids=[feed.pk], now=NOW + 2 * HOUR)
        assert keep(NOW + 2 * HOUR) == 1
        assert verify(row_of(feed), NOW + 2 * HOUR)
        assert not live_among(feed_ids=[feed.pk], now=NOW + 2 * HOUR), "silent until it pushes"
        noticed_by_poll(feed_id=feed.pk, moment=NOW + 3 * HOUR)
        assert keep(NOW + 3 * HOUR) == 0

    def test_what_a_poll_finds_without_a_live_subscription_says_nothing_of_the_hub(self, hub: Hub) -> None:
        feed = feed_of(hub)
        keep()
        noticed_by_poll(feed_id=feed.pk, moment=NOW)
        assert row_of(feed).missed == 0
        noticed_by_poll(feed_id=FeedFactory().pk, moment=NOW)

    def test_many_feeds_are_asked_about_in_one_query(self, hub: Hub, django_assert_num_queries: Any) -> None:
        live, other = subscribed(hub), FeedFactory()
        with django_assert_num_queries(1):
            assert live_among(feed_ids=[live.pk, other.pk], now=NOW) == {live.pk}
