"""A starred post is kept for its reader, whatever happens to it in timelines."""

from datetime import timedelta

import pytest

from reader.entries.place import place_due
from reader.entries.prune import prune_entries
from reader.models import Channel, Entry, Reader, TimelineEntry
from reader.rules.order import Key, PageRequest
from reader.timelines.stars import star, starred_page, unstar
from tests.factories import NOW
from tests.reader.posts import put

pytestmark = pytest.mark.django_db


def test_it_is_not_forgotten_by_its_age_until_the_star_is_gone(
    ada: Reader, bob: Reader, home: Channel
) -> None:
    kept, old = put(home, is_unread=False), put(home, is_unread=False)
    his = put(bob.channels.get(uid="home"), kept.entry, is_unread=False)
    star(reader=ada, entries=[kept.entry_id], now=NOW)
    later = NOW + timedelta(days=400)
    prune_entries(now=later)
    assert set(TimelineEntry.objects.values_list("pk", flat=True)) == {kept.pk}, (old.pk, his.pk)
    unstar(reader=ada, entries=[kept.entry_id])
    prune_entries(now=later)
    assert not TimelineEntry.objects.exists()


def test_its_text_outlives_its_channel(ada: Reader, home: Channel) -> None:
    place = put(home)
    star(reader=ada, entries=[place.entry_id], now=NOW)
    place.delete()
    prune_entries(now=NOW + timedelta(days=400))
    ((entry,), _) = starred_page(ada, PageRequest())
    assert entry.jf2 is not None


def test_one_that_its_feed_takes_back_stays_for_whoever_starred_it(
    ada: Reader, bob: Reader, home: Channel
) -> None:
    hers = put(home)
    his = put(bob.channels.get(uid="home"), hers.entry)
    star(reader=ada, entries=[hers.entry_id], now=NOW)
    Entry.objects.update(withdrawn_at=NOW, due_at=NOW)
    place_due(clock=lambda: NOW)
    assert set(TimelineEntry.objects.seen().values_list("pk", flat=True)) == {hers.pk}
    assert his.pk != hers.pk


def test_pages_of_stars_have_each_once(ada: Reader, home: Channel) -> None:
    entries = [put(home).entry for _ in range(5)]
    for entry in entries:
        star(reader=ada, entries=[entry.pk], now=NOW)
    found, asked = [], PageRequest(limit=2)
    for _ in range(3):
        page, paging = starred_page(ada, asked)
        found += [entry.pk for entry in page]
        if paging.after:
            asked = PageRequest(from_=Key.read(paging.after), limit=2)
    assert found == [entry.pk for entry in reversed(entries)]
    assert not paging.after
