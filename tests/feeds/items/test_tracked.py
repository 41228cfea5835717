"""Posts tracked after sending: who requests it, what feeds know, and each change reported once."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from feeds.items.alerts import ItemNews, note_tracked, take_news
from feeds.items.alerts import track as track_in_transaction
from feeds.models import Feed, Item, TrackedItem
from feeds.models.item import LINGERS
from tests.factories import NOW, FinalItemFactory, an_entry
from tests.races import beside

pytestmark = pytest.mark.django_db
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


track = transaction.atomic(track_in_transaction)


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
