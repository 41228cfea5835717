"""Each visible post is on exactly one page, whatever happens between two pages.

A starred post is kept for its reader, whatever happens to it in timelines.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reader.channels.filters import mute, unmute
from reader.entries.place import place_due, place_entry
from reader.entries.prune import prune_entries
from reader.models import Channel, Entry, Reader, TimelineEntry, Unread
from reader.people.readers import add_reader
from reader.rules.order import Key, PageRequest
from reader.timelines import marks
from reader.timelines.pages import Page, Timeline, page_of, unread_counts
from reader.timelines.stars import star, starred_page, unstar
from tests.factories import NOW
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
AUTHORS = ("https://a.example/", "https://b.example/")
_names = (f"walker-{number}" for number in count())
# An event between two pages, for the post of that number, counted from the newest.
EVENT = st.tuples(
    st.sampled_from(["arrive", "remove", "read", "unread", "mute", "unmute"]), st.integers(0, 40)
)
BETWEEN = st.lists(st.lists(EVENT, max_size=3), max_size=30)
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
RARER = st.tuples(st.sampled_from(["block", "move", "withdraw", "return", "prune"]), st.integers(0, 40))
STEPS = st.lists(EVENT | RARER, min_size=1, max_size=25)


class World:
    """Channel of one reader, with posts at few moments, so that many share one."""

    def __init__(self, moments: list[int]) -> None:
        self.reader: Reader = add_reader(name=next(_names), now=NOW)
        self.channel: Channel = self.reader.channels.get(uid="home")
        self.timeline = Timeline(self.reader, self.channel)
        self.other: Channel = self.reader.channels.create(uid="other", name="Other")
        self.newest = 10
        for moment in moments:
            self.arrive(moment)

    def arrive(self, moment: int) -> None:
        author = AUTHORS[TimelineEntry.objects.count() % 2]
        put(self.channel, an_entry(author=author), at=minutes(moment))

    def happen(self, event: tuple[str, int]) -> None:
        what, number = event
        seen = self.seen()
        pk = seen[number % len(seen)] if seen else 0
        match what:
            case "arrive":
                self.newest += number % 2
                self.arrive(self.newest)
            case "remove":
                marks.remove(self.timeline, [pk])
            case "read":
                marks.mark_read(self.timeline, [pk])
            case "unread":
                marks.mark_unread(self.timeline, [pk])
            case "mute":
                mute(reader=self.reader, channel=self.channel, url=AUTHORS[number % 2], now=NOW)
            case "unmute":
                unmute(reader=self.reader, channel=self.channel, url=AUTHORS[number % 2])
            case "block":
                url = AUTHORS[number % 2]
                mute(reader=self.reader, channel=self.channel, url=url, now=NOW, is_block=True)
            case "move":
                to = (self.channel, self.other)[number % 2]
                places = TimelineEntry.objects.filter(reader=self.reader).order_by("pk")
                pks = list(places.values_list("pk", flat=True))
                marks.move(Timeline(self.reader), pks[number : number + 2], to=to, now=minutes(self.newest))
            case "withdraw":
                for entry in Entry.objects.filter(places=pk):
                    self.place_again(entry, withdrawn_at=NOW)
            case "return":
                for entry in Entry.objects.filter(withdrawn_at__isnull=False)[:1]:
                    self.place_again(entry, withdrawn_at=None)
            case "prune":
                prune_entries(now=NOW + timedelta(days=10 * number))

    def place_again(self, entry: Entry, **changes: object) -> None:
        Entry.objects.filter(pk=entry.pk).update(due_at=NOW, **changes)
        assert place_entry(entry_id=entry.pk, clock=lambda: NOW)

    def seen(self) -> list[int]:
        rows = TimelineEntry.objects.seen().filter(channel=self.channel).order_by("-at", "-pk")
        return list(rows.values_list("pk", flat=True))

    def unread(self) -> set[int]:
        return set(Unread.objects.filter(channel=self.channel).values_list("place_id", flat=True))

    def page(self, *, before: str = "", after: str = "", limit: int = 20, unread_only: bool = False) -> Page:
        newer_than, from_ = (Key.read(text) if text else None for text in (before, after))
        return page_of(self.timeline, PageRequest(newer_than, from_, limit), unread_only=unread_only)


def pks(page: Page) -> list[int]:
    return [place.pk for place in page.places]


@quick
@given(st.lists(st.integers(0, 3), max_size=25), st.integers(1, 7), BETWEEN, st.booleans())
def test_going_down_each_post_that_stays_comes_once(
    moments: list[int], limit: int, between: list[list[tuple[str, int]]], unread_only: bool
) -> None:
    world = World(moments)
    there = set(world.seen())
    stays = set(there)
    got: list[int] = []
    events: Iterator[list[tuple[str, int]]] = iter(between)
    page = world.page(limit=limit, unread_only=unread_only)
    for _ in range(len(moments) + 60):
        got += pks(page)
        if not page.paging.after:
            break
        for event in next(events, []):
            world.happen(event)
            stays &= set(world.seen()) & (world.unread() if unread_only else set(world.seen()))
        page = world.page(after=page.paging.after, limit=limit, unread_only=unread_only)
    assert len(got) == len(set(got)), "none twice"
    assert stays <= set(got), "none missing"
    keys = {place.pk: Key(place.at, place.pk) for place in TimelineEntry.objects.filter(pk__in=got)}
    assert [keys[pk] for pk in got] == sorted(keys.values(), reverse=True)


@quick
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 5), BETWEEN, st.integers(0, 12))
def test_going_up_each_post_that_came_since_comes_once(
    moments: list[int], limit: int, between: list[list[tuple[str, int]]], more: int
) -> None:
    world = World(moments)
    known, cursor = set(world.seen()), world.page().paging.before
    for number in range(more):
        world.happen(("arrive", number))
    came = set(world.seen()) - known
    got: list[int] = []
    stays, events = set(came), iter(between)
    page = world.page(before=cursor, limit=limit)
    newest = page.paging.before
    assert bool(newest) == bool(came)
    for _ in range(more + 60):
        got += pks(page)
        if not page.paging.after:
            break
        for event in next(events, []):
            world.happen(event)
            stays &= set(world.seen())
        # The same lower end, so that it is a window.
        page = world.page(before=cursor, after=page.paging.after, limit=limit)
        assert not page.paging.before
    assert len(got) == len(set(got))
    assert stays <= set(got) <= came
    if newest:
        rest = world.page(before=newest, limit=100)
        later = set(world.seen()) - known - came
        assert set(pks(rest)) >= later, "what arrived meanwhile is newer than the newest page"


@pytest.mark.slow
def test_a_thousand_posts_of_one_moment_come_once_each_way() -> None:
    world = World([])
    for _ in range(1_000):
        world.arrive(0)
    got, after = [], ""
    for _ in range(100):
        page = world.page(after=after, limit=30)
        got += pks(page)
        after = page.paging.after
        if not after:
            break
    assert got == world.seen()
    assert len(set(got)) == 1_000


def test_a_page_asks_the_index_and_not_the_table(django_assert_num_queries: object) -> None:
    world = World([0, 1, 2])
    with django_assert_num_queries(2):  # type: ignore[operator]
        page = world.page(limit=2)
    assert len(page.places) == 2
    with django_assert_num_queries(2):  # type: ignore[operator]
        world.page(after=page.paging.after)


@pytest.mark.slow
@quick
@given(st.lists(st.integers(0, 3), max_size=12), STEPS)
def test_the_count_is_always_that_of_the_timeline(moments: list[int], steps: list[tuple[str, int]]) -> None:
    world = World(moments)
    for step in steps:
        world.happen(step)
        assert pks(world.page(limit=100)) == world.seen()[:100]
        for channel in (world.channel, world.other):
            timeline, whole = Timeline(world.reader, channel), PageRequest(limit=100)
            shown = page_of(timeline, whole).unread
            assert unread_counts([channel.pk]).get(channel.pk, 0) == len(shown)
            assert set(pks(page_of(timeline, whole, unread_only=True))) == set(shown)


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
