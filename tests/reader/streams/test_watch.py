"""A stream's events: posts in order of arrival, and the current counts and channels."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reader.channels.channels import alter_channel, drop_channel, order_channels
from reader.channels.filters import change_filters, mute, unmute
from reader.channels.follows import move_follow, unfollow
from reader.entries.place import place_entry
from reader.models import Channel, Entry, Follow, Reader, TimelineEntry
from reader.rules.order import EPOCH, Key
from reader.streams.stream import Event, Watch
from reader.timelines import marks
from reader.timelines.pages import Timeline, unread_counts
from tests.factories import NOW, FeedFactory
from tests.reader.posts import an_entry, minutes, put
from tests.reader.timelines.test_pages import EVENT, World

pytestmark = pytest.mark.django_db
AUTHOR = "https://author.example/"
CHANGE = st.one_of(
    st.tuples(st.sampled_from(["arrive", "read", "unread", "mute", "unmute"]), st.integers(0, 40)),
    st.tuples(st.sampled_from(["follow", "unfollow", "filter", "break", "look"]), st.integers(0, 40)),
    st.tuples(st.just("withdraw"), st.integers(0, 40)),
)


def begun(reader: Reader) -> Watch:
    watch = Watch(reader)
    watch.start()
    return watch


def told(events: list[Event]) -> list[tuple[str, int]]:
    """Return each event's name and its place or number of posts."""
    return [(one.name, one.place.pk if one.place else one.channels[0][1]) for one in events]


def names(events: list[Event]) -> list[str]:
    return [one.name for one in events]


def test_it_begins_with_all_channels_and_what_was_there_is_no_news(ada: Reader, home: Channel) -> None:
    put(home)
    (started,) = Watch(ada).start()
    assert started.name == "started"
    assert [(channel.uid, count) for channel, count in started.channels] == [
        ("notifications", 0),
        ("home", 1),
    ]
    assert begun(ada).look(at_counts=True) == []


def test_posts_of_an_hour_in_which_the_clock_was_set_back_are_told(ada: Reader, home: Channel) -> None:
    follow = Follow.objects.create(channel=home, feed=FeedFactory())
    watch = begun(ada)
    for minute in (60, 5, 55, 61):
        entry = an_entry(feed=follow.feed, placed_at=None, due_at=minutes(minute))
        assert place_entry(entry_id=entry.pk, clock=partial(minutes, minute))
        events = watch.look(at_counts=False)
        assert names(events) == ["new-item", "unread-count"]
        assert [one.place.entry_id for one in events if one.place] == [entry.pk]


def test_posts_are_told_oldest_first_with_the_new_count(ada: Reader, home: Channel) -> None:
    put(home)
    watch = begun(ada)
    places = [put(home, at=minutes(number)).pk for number in (1, 2)]
    notice = put(ada.channels.get(uid="notifications"), at=minutes(3), is_unread=False).pk
    events = watch.look(at_counts=False)
    wanted = [*(("new-item", pk) for pk in places), ("new-notification", notice), ("unread-count", 3)]
    assert told(events) == wanted
    assert [one.is_unread for one in events] == [True, True, False, False]
    assert watch.look(at_counts=True) == []


def test_who_comes_back_gets_what_was_missed_and_only_that(ada: Reader, home: Channel) -> None:
    known, missed = put(home), put(home, at=minutes(1))
    watch = Watch(ada, Key(known.at, known.pk))
    assert names(watch.start()) == ["started", "new-item"]
    assert watch.look(at_counts=True) == []
    here = Watch(ada, Key(missed.at, missed.pk))
    assert names(here.start()) == ["started"]


def test_no_id_is_sent_before_all_up_to_it_was_sent(ada: Reader, home: Channel) -> None:
    known = put(home)
    missed = [put(home, at=minutes(number)).pk for number in (1, 2)]
    last_id, heard = str(Key(known.at, known.pk)), []
    # The connection breaks after each event.
    for kept in (1, 2, 2):
        *_, last = Watch.after(ada, last_id).start()[:kept]
        last_id = last.id
        heard += [last.place.pk] if last.place else []
    assert heard == missed
    assert names(Watch.after(ada, last_id).start()) == ["started"]


@pytest.mark.parametrize("last_id", ["nonsense", "0-0"])
def test_a_reset_that_did_not_arrive_is_sent_again(ada: Reader, home: Channel, last_id: str) -> None:
    for _ in range(101):
        put(home)
    started, reset = Watch.after(ada, last_id).start()
    assert names([started, reset]) == ["started", "reset"]
    assert names(Watch.after(ada, started.id or last_id).start()) == ["started", "reset"]
    assert names(Watch.after(ada, reset.id).start()) == ["started"]


def followed(channel: Channel, *ages: int, is_unread: bool = False) -> Follow:
    """Follow a feed with posts of so many days ago, placed as `follow_feed` does."""
    follow = Follow.objects.create(channel=channel, feed=FeedFactory())
    for age in ages:
        put(channel, at=minutes(-1440 * age), is_unread=is_unread, came_at=minutes(5))
    return follow


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("is_unread", [False, True])
def test_the_posts_of_a_feed_followed_newly_are_announced_together(
    ada: Reader, home: Channel, held: int, is_unread: bool
) -> None:
    for _ in range(held):
        put(home, at=minutes(-1440 * 3))
    watch = begun(ada)
    last_id = Watch(ada).start()[0].id
    followed(home, 1, 5, 9, is_unread=is_unread)
    counts = ["unread-count"] if is_unread else []
    assert names(watch.look(at_counts=False)) == ["reset", *counts]
    assert watch.look(at_counts=True) == []
    assert names(Watch.after(ada, last_id).start()) == ["started", "reset"]


def test_old_posts_that_are_placed_after_the_first_reading_are_announced_together(
    ada: Reader, home: Channel
) -> None:
    followed(home)
    watch = begun(ada)
    put(home, at=minutes(-9), is_unread=False, came_at=minutes(6))
    assert names(watch.look(at_counts=False)) == ["reset"]


@pytest.mark.parametrize("what", ["mute", "unmute", "hide", "show", "move"])
def test_a_change_of_what_is_shown_is_announced_also_to_who_was_away(
    ada: Reader, home: Channel, channel: Callable[[str], Channel], what: str
) -> None:
    other, follow = channel("other"), followed(home, 3)
    put(home, an_entry(author=AUTHOR, feed=follow.feed), is_unread=False)
    if what == "unmute":
        mute(reader=ada, channel=home, url=AUTHOR, now=NOW)
    if what == "show":
        change_filters(channel=home, kinds=["article"], at_once=None)
    watch = begun(ada)
    (started,) = Watch(ada).start()
    match what:
        case "mute":
            mute(reader=ada, channel=home, url=AUTHOR, now=NOW)
        case "unmute":
            unmute(reader=ada, channel=home, url=AUTHOR)
        case "hide":
            change_filters(channel=home, kinds=["article"], at_once=None)
        case "show":
            change_filters(channel=home, at_once=None)
        case "move":
            move_follow(follow=follow, to=other, now=NOW, with_posts=True)
    assert names(watch.look(at_counts=True)) == ["reset"]
    assert watch.look(at_counts=True) == []
    assert names(Watch.after(ada, started.id).start()) == ["started", "reset"]


def test_a_post_that_its_feed_withdraws_or_brings_back_is_announced(ada: Reader, home: Channel) -> None:
    place, watch = put(home), begun(ada)
    for gone in (NOW, None):
        Entry.objects.filter(pk=place.entry_id).update(withdrawn_at=gone, due_at=NOW)
        place_entry(entry_id=place.entry_id, clock=lambda: NOW)
        assert names(watch.look(at_counts=True)) == ["reset", "unread-count"]
        assert watch.look(at_counts=True) == []


def test_too_much_at_once_is_told_as_a_reset(ada: Reader, home: Channel) -> None:
    watch = begun(ada)
    for _ in range(101):
        put(home)
    assert names(watch.look(at_counts=False)) == ["reset", "unread-count"]
    assert watch.look(at_counts=True) == []
    assert names(Watch(ada, Key(EPOCH, 0)).start()) == ["started", "reset"]
    assert names(Watch(ada, is_lost=True).start()) == ["started", "reset"]


def test_a_post_that_is_moved_is_new_where_it_comes(
    ada: Reader, home: Channel, channel: Callable[[str], Channel]
) -> None:
    other, place = channel("other"), put(home)
    watch = begun(ada)
    marks.move(Timeline(ada), [place.pk], to=other, now=minutes(1))
    (event, *counts) = watch.look(at_counts=False)
    assert (event.name, event.place and event.place.channel_id) == ("new-item", other.pk)
    assert names(counts) == ["unread-count", "unread-count"]


def test_counts_are_told_only_when_they_are_asked_for_and_changed(ada: Reader, home: Channel) -> None:
    place = put(home)
    watch = begun(ada)
    marks.mark_read(Timeline(ada), [place.pk])
    assert watch.look(at_counts=False) == []
    assert told(watch.look(at_counts=True)) == [("unread-count", 0)]
    alter_channel(channel=home, unread_mode="off")
    assert names(watch.look(at_counts=True)) == ["channel-update"]
    marks.mark_unread(Timeline(ada), [place.pk])
    assert watch.look(at_counts=True) == []


@pytest.mark.parametrize("what", ["made", "named", "ordered", "dropped"])
def test_what_is_done_to_channels_is_told_with_all_of_them(
    ada: Reader, channel: Callable[[str], Channel], what: str
) -> None:
    one = channel("one")
    watch = begun(ada)
    match what:
        case "made":
            channel("two")
        case "named":
            alter_channel(channel=one, name="New")
        case "ordered":
            order_channels(reader=ada, uids=["one", "home"])
        case "dropped":
            drop_channel(channel=one, now=NOW)
    (event,) = watch.look(at_counts=True)
    assert event.name == "channel-update"
    listed = ada.channels.order_by("-is_notifications", "position", "pk")
    assert [row.uid for row, _ in event.channels] == [row.uid for row in listed]


def test_what_is_muted_is_not_told(ada: Reader, home: Channel) -> None:
    put(home, an_entry(author=AUTHOR))
    mute(reader=ada, channel=home, url=AUTHOR, now=NOW)
    watch = begun(ada)
    entry = an_entry(author=AUTHOR)
    TimelineEntry.objects.create(
        channel=home, reader=ada, entry=entry, at=minutes(1), hidden=TimelineEntry.Hidden.MUTED
    )
    assert watch.look(at_counts=True) == []
    unmute(reader=ada, channel=home, url=AUTHOR)
    assert names(watch.look(at_counts=True)) == ["reset", "unread-count"]
    assert watch.look(at_counts=True) == []


def test_another_readers_posts_are_not_told(ada: Reader, bob: Reader) -> None:
    watch = begun(ada)
    put(bob.channels.get(uid="home"), at=minutes(1))
    assert watch.look(at_counts=True) == []


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.tuples(EVENT, st.booleans()), max_size=25))
def test_whoever_adds_up_what_is_told_has_the_timeline_and_its_count(
    moments: list[int], steps: list[tuple[tuple[str, int], bool]]
) -> None:
    world = World(moments)
    watch = Watch(world.reader)
    (started,) = watch.start()
    counts = {channel.uid: count for channel, count in started.channels}
    before, seen = set(world.seen()), []
    for step, looks in steps:
        world.happen(step)
        if not looks:
            continue
        for event in watch.look(at_counts=True):
            if event.place is not None:
                seen.append(event.place.pk)
            for channel, count in event.channels:
                counts[channel.uid] = count
        assert counts["home"] == unread_counts([world.channel.pk]).get(world.channel.pk, 0)
    watch.look(at_counts=True)
    assert len(seen) == len(set(seen)), "none twice"
    in_order = TimelineEntry.objects.filter(pk__in=seen).order_by("at", "pk").values_list("pk", flat=True)
    assert list(in_order) == seen
    assert not set(seen) & before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.integers(0, 3), max_size=5), st.lists(CHANGE, max_size=20))
def test_a_client_that_follows_the_events_knows_the_timeline_and_its_count(
    moments: list[int], changes: list[tuple[str, int]]
) -> None:
    world = World(moments)
    client = StreamClient(world)
    for what, number in changes:
        match what:
            case "follow":
                world.newest += 1
                follow = Follow.objects.create(channel=world.channel, feed=FeedFactory())
                for age in range(number % 4):
                    entry = an_entry(feed=follow.feed)
                    at, came_at = minutes(-number - age), minutes(world.newest)
                    put(world.channel, entry, at=at, is_unread=age == 0, came_at=came_at)
            case "unfollow":
                if last := Follow.objects.of(world.reader).last():
                    unfollow(channel=world.channel, feed=last.feed, now=NOW)
            case "filter":
                hide = [f"Post {number % 10}"] if number % 2 else []
                change_filters(channel=world.channel, hide=hide, at_once=None)
            case "withdraw":
                # Withdrawn from its feed, or restored.
                if place := TimelineEntry.objects.order_by("pk")[number % 5 :].first():
                    gone = None if place.hidden == TimelineEntry.Hidden.WITHDRAWN else NOW
                    Entry.objects.filter(pk=place.entry_id).update(withdrawn_at=gone, due_at=NOW)
                    place_entry(entry_id=place.entry_id, clock=lambda: NOW)
            case "break":
                client.come_back(after=number % 4)
            case "look":
                client.look()
            case _:
                world.happen((what, number))
    client.look()
    assert client.posts == set(world.seen())
    assert client.count == len(world.unread())


class StreamClient:
    """Client that applies a stream's events, and requests the timeline when a stream says so."""

    def __init__(self, world: World) -> None:
        self.world, self.last_id = world, ""
        self.posts: set[int] = set()
        self.count = 0
        self.come_back()

    def come_back(self, after: int = 1_000) -> None:
        """Begin a stream of which only the first `after` events arrive, and then another one."""
        is_first = not self.last_id
        self.watch = Watch.after(self.world.reader, self.last_id)
        self.hear(self.watch.start()[: None if is_first else after])
        if is_first:
            self.posts = set(self.world.seen())
        self.watch = Watch.after(self.world.reader, self.last_id)
        self.hear(self.watch.start())

    def look(self) -> None:
        self.hear(self.watch.look(at_counts=True))

    def hear(self, events: list[Event]) -> None:
        for event in events:
            self.last_id = event.id or self.last_id
            if event.name == "reset":
                self.posts = set(self.world.seen())
            if event.place is not None:
                assert event.place.pk not in self.posts, "none twice"
                self.posts.add(event.place.pk)
            for channel, count in event.channels:
                self.count = count if channel.uid == "home" else self.count
