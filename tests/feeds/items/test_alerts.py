"""Feeds that admins must be notified about.

Posts tracked after sending: who requests it, what feeds know, and each change reported once.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from feeds.items.alerts import (
    ItemNews,
    how_many_fail,
    is_any_wanting,
    mark_alerted,
    note_tracked,
    take_news,
    wanting,
)
from feeds.items.alerts import track as track_in_transaction
from feeds.models import Feed, Item, TrackedItem
from feeds.models.item import LINGERS
from feeds.rules.alerts import What
from tests.factories import NOW, FeedFactory, FinalItemFactory, PollFactory, an_entry
from tests.races import beside

track = transaction.atomic(track_in_transaction)
pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def failing(for_: timedelta = DAY, **changes: Any) -> Feed:
    usual = {
        "failures": 9,
        "failing_since": NOW - for_,
        "last_polled_at": NOW - HOUR,
        "next_poll_at": NOW + HOUR,
    }
    feed: Feed = FeedFactory(**{**usual, **changes})
    return feed


def recovered(**changes: Any) -> Feed:
    usual = {"alerted_at": NOW - 2 * HOUR, "last_polled_at": NOW - HOUR, "fetched_through": NOW - HOUR}
    feed: Feed = FeedFactory(**{**usual, **changes})
    return feed


def gone(status: int = 410, **changes: Any) -> Feed:
    feed = failing(HOUR, status="stopped", failures=1, **changes)
    PollFactory(feed=feed, at=NOW - 2 * HOUR, outcome="failed", status=500)
    PollFactory(feed=feed, at=NOW - HOUR, outcome="failed", status=status)
    return feed


def found() -> dict[What, list[Feed]]:
    assert is_any_wanting(NOW)
    with transaction.atomic():
        return wanting(NOW)


def test_a_feed_that_has_failed_for_a_day() -> None:
    feed = failing()
    failing(HOUR)
    assert found() == {"failing": [feed]}


def test_those_that_are_nearly_there_come_along_but_not_alone() -> None:
    nearly = failing(23 * HOUR)
    with transaction.atomic():
        assert wanting(NOW) == {}
    first = failing()
    assert found() == {"failing": [nearly, first]}


def test_a_feed_that_was_told_of_and_is_read_again() -> None:
    feed = recovered()
    recovered(fetched_through=NOW - 3 * HOUR)  # not read since
    assert found() == {"recovered": [feed]}


def test_a_feed_whose_server_calls_it_gone() -> None:
    feed = gone()
    assert found() == {"gone": [feed]}


def test_a_feed_that_was_stopped_by_hand_is_not_gone() -> None:
    gone(500)
    gone(410, dropping=True)
    failing(status="stopped")
    assert not is_any_wanting(NOW)


@pytest.mark.parametrize("make", [failing, gone, recovered])
def test_who_was_marked_is_not_wanted_again(make: Any) -> None:
    make()
    with transaction.atomic():
        for what, feeds in wanting(NOW).items():
            assert mark_alerted(feeds=feeds, what=what, now=NOW) == 1
    assert not is_any_wanting(NOW)
    with transaction.atomic():
        assert wanting(NOW) == {}


def test_after_a_recovery_the_next_day_of_failures_is_told_of_again() -> None:
    feed = recovered()
    with transaction.atomic():
        mark_alerted(feeds=wanting(NOW)["recovered"], what="recovered", now=NOW)
    Feed.objects.filter(pk=feed.pk).update(failures=3, failing_since=NOW, next_poll_at=NOW + 9 * DAY)
    with transaction.atomic():
        assert wanting(NOW + DAY) == {"failing": [feed]}


def test_how_many_of_the_watched_fail() -> None:
    failing()
    FeedFactory()
    failing(status="paused")
    assert how_many_fail() == (1, 2)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_two_workers_never_tell_of_one_feed() -> None:
    failing()

    def second() -> dict[What, list[Feed]]:
        with transaction.atomic():
            return wanting(NOW)

    first, other = beside(lambda: wanting(NOW), second, blocks=False)
    assert list(first) == ["failing"]
    assert other == {}


def a_tracked(**facts: Any) -> TrackedItem:
    row: TrackedItem = TrackedItem.objects.create(
        item=FinalItemFactory(), until=NOW + DAY, **{"content_hash": "1", **facts}
    )
    return row


def test_a_feed_knows_until_when_it_has_tracked_posts() -> None:
    first, second = FinalItemFactory(), FinalItemFactory()
    track({first.pk: "1"}, until=NOW + DAY)
    assert Feed.objects.get(pk=first.feed_id).tracked_until is None
    note_tracked()
    feed = Feed.objects.get(pk=first.feed_id)
    assert feed.tracked_until == NOW + DAY + LINGERS
    assert feed.is_tracked(NOW)
    assert not feed.is_tracked(NOW + 2 * DAY)
    assert Feed.objects.get(pk=second.feed_id).tracked_until is None
    track({FinalItemFactory(feed=feed).pk: "1"}, until=NOW + HOUR)
    note_tracked()
    assert Feed.objects.get(pk=feed.pk).tracked_until == NOW + DAY + LINGERS
    assert not TrackedItem.objects.unnoted().exists()


def test_who_sends_it_later_has_it_tracked_for_longer() -> None:
    item = FinalItemFactory()
    track({item.pk: "1"}, until=NOW + DAY)
    note_tracked()
    track({item.pk: "1"}, until=NOW + 2 * DAY)
    track({item.pk: "1"}, until=NOW)
    row = TrackedItem.objects.get()
    assert (row.until, row.content_hash, row.noted) == (NOW + 2 * DAY, "1", False)


def test_who_sent_an_older_text_is_told_of_the_newer_again() -> None:
    row = a_tracked(content_hash="2")
    track({row.pk: "1"}, until=NOW + DAY)
    assert TrackedItem.objects.get().content_hash == "1"


def test_a_text_without_a_hash_is_not_tracked() -> None:
    track({FinalItemFactory().pk: ""}, until=NOW + DAY)
    assert not TrackedItem.objects.exists()


def test_a_correction_is_taken_once() -> None:
    entry = an_entry(title="Corrected")
    row = a_tracked(seen_hash="2", seen_since=NOW, entry=entry.to_json(), news="corrected")
    with transaction.atomic():
        assert take_news(row.pk) == ItemNews(row.pk, NOW, entry, "2")
        assert take_news(row.pk) is None
    row.refresh_from_db()
    assert (row.content_hash, row.seen_hash, row.entry, row.news, row.corrections) == ("2", "", None, "", 1)


def test_after_its_withdrawal_a_post_is_tracked_no_more() -> None:
    row = a_tracked(missing_since=NOW, news="withdrawn")
    with transaction.atomic():
        assert take_news(row.pk) == ItemNews(row.pk, NOW)
    assert not TrackedItem.objects.exists()


def test_what_is_over_is_forgotten_when_nothing_can_come_of_it_any_more() -> None:
    a_tracked()
    assert not TrackedItem.objects.over(NOW + DAY + LINGERS).exists()
    assert TrackedItem.objects.over(NOW + DAY + LINGERS + HOUR).count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_take_the_news_once() -> None:
    row = a_tracked(missing_since=NOW, news="withdrawn")

    def taken() -> ItemNews | None:
        with transaction.atomic():
            return take_news(row.pk)

    first, second = beside(taken, taken)
    assert first is not None
    assert second is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one lock for all.")
def test_who_publishes_does_not_wait_for_a_feed_that_is_being_read() -> None:
    """The poll locks the feed's row, then its items'; publishing locks items' rows."""
    item = FinalItemFactory()

    def publish() -> None:
        with transaction.atomic():
            Item.objects.filter(pk=item.pk).update(title="cleared")
            track({item.pk: "1"}, until=NOW + DAY)

    beside(lambda: Feed.objects.select_for_update().get(), publish, blocks=False)
    assert TrackedItem.objects.exists()
