"""Each call of Google Reader's API: parameters in, JSON or text out.

It was never specified. https://feedhq.readthedocs.io/en/latest/api/ tells what it was, and apps what is left
of it. Posts, feeds and folders are entries, feeds and channels; whatever is another reader's does not exist.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError

from common.passes import TimeBudget
from common.rates import is_within
from common.refused import Refused
from reader.channels.channels import alter_channel, channel_named, default_channel
from reader.channels.follows import (
    dissolve_channel,
    follow_address,
    move_follow,
    rename_follow,
    shared_feed_at,
    unfollow,
)
from reader.channels.opml import export_follows, follow_listed, keep_list
from reader.greader.errors import CallError, bad_request, unknown
from reader.greader.items import Shown, feed_title, microseconds, post_shown, subscription
from reader.models import AppPassword, Channel, Follow, Reader
from reader.rules import google_names as names
from reader.rules.google_names import StreamName, post_key, stream_name
from reader.rules.order import EPOCH, LARGEST_KEY, MICROSECOND, BadCursor, Key, limit_of
from reader.rules.parameters import Parameters
from reader.timelines import marks, stars
from reader.timelines.pages import Timeline
from reader.timelines.selections import (
    ReadState,
    Selection,
    Tally,
    Trait,
    mark_selected_read,
    select,
    standings,
    unread_tallies,
)

MOST_IDS, MOST_POSTS = 10_000, 1_000
# An app waits so long for its file; most lists are done before.
IMPORT_WAITS = timedelta(seconds=2)
# Of the posts in one answer. What is left out comes with the next page, or when it is asked for again.
MOST_CHARACTERS = 32_000_000
# Apps remember by their own clock, or to the second, when they asked last.
OVERLAP = timedelta(seconds=60)
ADDED_A_MINUTE = 20
# Of the original: some apps look at it.
TOKEN_CHARACTERS = 57
STATES: Mapping[StreamName, tuple[Trait, ...]] = {
    names.READING_LIST: (),
    names.READ: (ReadState.READ,),
    names.UNREAD: (ReadState.UNREAD,),
    names.KEPT_UNREAD: (ReadState.UNREAD,),
    names.TRACKING_UNREAD: (ReadState.UNREAD,),
    names.STARRED: (ReadState.STARRED,),
}
# What adding or taking away a state means.
MADE_READ = {("a", names.READ), ("r", names.UNREAD), ("r", names.KEPT_UNREAD)}
MADE_UNREAD = {("r", names.READ), ("a", names.UNREAD), ("a", names.KEPT_UNREAD)}


@dataclass(frozen=True, slots=True)
class AppCall:
    """A request that was let in. `rest` is what stands in the address after the call's name; `body` has the
    octets of a file that was sent."""

    password: AppPassword
    given: Parameters
    now: datetime
    rest: str = ""
    body: bytes = b""

    @property
    def reader(self) -> Reader:
        return self.password.reader

    def needed(self, name: str) -> str:
        """The parameter. Raises CallError where it is missing."""
        if value := self.given.one(name):
            return value
        raise bad_request(f"The parameter {name} is missing.")

    def posts(self) -> list[int]:
        """The keys of the posts that are named. Raises CallError where none is."""
        named = self.given.many("i")
        if not named:
            raise bad_request("Say which posts: the parameter i is missing.")
        if len(named) > MOST_POSTS:
            raise bad_request(f"Name at most {MOST_POSTS:,} posts at once.")
        keys = (post_key(name) for name in named)
        return [key for key in keys if key is not None]

    def streams(self, name: str) -> list[StreamName]:
        """The streams that a parameter names. Raises CallError for what is no such name."""
        found = []
        for text in self.given.many(name):
            stream = stream_name(text)
            if stream is None:
                raise bad_request(f"{name} does not name a feed, a folder or a state.")
            found.append(stream)
        return found

    def folder(self, name: str) -> Channel | None:
        """The folder that a parameter names; None where it names none. Raises CallError if it is unknown."""
        label = self.label(name)
        channel = _folder(self.reader, label) if label else None
        if label and channel is None:
            raise unknown("There is no such folder.")
        return channel

    def label(self, name: str) -> str:
        """The name of the folder in a parameter; "" for none."""
        return next((one.value for one in self.streams(name) if one.kind == "label"), "")


Told = Shown | str
Doing = Callable[[AppCall], Told]


def show_user(call: AppCall) -> Shown:
    reader = call.reader
    return {
        "userId": str(reader.pk),
        "userName": reader.slug,
        "userProfileId": str(reader.pk),
        "userEmail": reader.user.email,
    }


def show_token(call: AppCall) -> str:
    """Apps send it along with whatever changes something. The key is proof enough, so nobody looks at it."""
    return f"{call.password.pk}".rjust(TOKEN_CHARACTERS, "0")


def list_tags(call: AppCall) -> Shown:
    listed = [{"id": str(StreamName("label", name)), "type": "folder"} for name in folders(call).values()]
    return {"tags": [{"id": str(names.STARRED)}, *listed]}


def list_subscriptions(call: AppCall) -> Shown:
    rows = Follow.objects.filter(channel__reader=call.reader).select_related("feed", "channel")
    found: dict[int, tuple[Follow, list[str]]] = {}
    for row in rows.order_by("channel__position", "channel", "pk"):
        found.setdefault(row.feed_id, (row, []))[1].append(row.channel.name)
    return {"subscriptions": [subscription(follow, labels) for follow, labels in found.values()]}


def count_unread(call: AppCall) -> Shown:
    feeds, channels = unread_tallies(call.reader)
    labels = folders(call)
    counts = {StreamName("feed", str(feed)): tally for feed, tally in feeds.items()}
    counts |= {StreamName("label", labels[one]): tally for one, tally in channels.items() if one in labels}
    total = sum(tally.posts for tally in feeds.values())
    if total:
        counts[names.READING_LIST] = Tally(total, max(tally.newest for tally in feeds.values()))
    listed = [
        {"id": str(name), "count": tally.posts, "newestItemTimestampUsec": microseconds(tally.newest)}
        for name, tally in counts.items()
    ]
    return {"max": total, "unreadcounts": listed}


def list_ids(call: AppCall) -> Shown:
    """By `s`, the names of posts alone, newest first."""
    page = select(_selection(call), limit=limit_of(call.given.one("n"), MOST_IDS), **_stretch(call))
    found: Shown = {"itemRefs": [{"id": str(entry)} for entry, _ in page.posts]}
    return {**found, **_continuation(page.following)}


def show_stream(call: AppCall) -> Shown:
    """Posts in full, newest first. What is left out for its size begins the next page."""
    page = select(_selection(call), limit=limit_of(call.given.one("n"), MOST_POSTS), **_stretch(call))
    shown, left = _items(call, [entry for entry, _ in page.posts])
    following = dict(page.posts)[left] if left else page.following
    name = str(stream_name(_stream(call)) or names.READING_LIST)
    return {"id": name, "updated": int(call.now.timestamp()), "items": shown, **_continuation(following)}


def show_posts(call: AppCall) -> Shown:
    """Those that are named. Apps ask again for what is left out for its size."""
    shown, _ = _items(call, call.posts())
    return {"id": str(names.READING_LIST), "updated": int(call.now.timestamp()), "items": shown}


def edit_tag(call: AppCall) -> str:
    """Read, unread, with and without a star; posts that the reader does not see are passed over."""
    posts = call.posts()
    changes = {(way, stream) for way in "ar" for stream in call.streams(way)}
    if any(stream.kind == "label" for _, stream in changes):
        raise bad_request("Single posts are not put into folders here: feeds are.")
    if changes & MADE_READ and changes & MADE_UNREAD:
        raise bad_request("A post cannot be read and unread.")
    timeline = Timeline(call.reader)
    if changes & MADE_READ:
        marks.mark_read(timeline, marks.places_of(call.reader, posts))
    if changes & MADE_UNREAD:
        marks.mark_unread(timeline, marks.places_of(call.reader, posts))
    if ("a", names.STARRED) in changes:
        stars.star(reader=call.reader, entries=posts, now=call.now)
    if ("r", names.STARRED) in changes:
        stars.unstar(reader=call.reader, entries=posts)
    return "OK"


def mark_stream_read(call: AppCall) -> str:
    """What is in the stream `s` and came by `ts`; nothing that came later."""
    call.needed("s")
    until = _moment(call, "ts") or call.now
    for stream in call.streams("s"):
        if stream.kind == "feed":
            _follows(call.reader, stream.value)
        traits = _traits(call.reader, stream)
        if ReadState.NOTHING in traits:
            raise unknown("There is no such folder.")
        mark_selected_read(Selection(call.reader, traits, until=until))
    return "OK"


def edit_subscription(call: AppCall) -> str:
    """Follows, unfollows, or puts feeds into other folders."""
    act = EDITS.get(call.needed("ac"))
    if act is None:
        raise bad_request("ac is subscribe, unsubscribe or edit.")
    feeds = [one.value for one in call.streams("s") if one.kind == "feed"]
    if not feeds:
        raise bad_request("Say which feed: the parameter s is missing.")
    for feed in feeds:
        act(call, feed)
    return "OK"


def export_subscriptions(call: AppCall) -> str:
    """As OPML."""
    return "".join(export_follows(call.reader, now=call.now))


def import_subscriptions(call: AppCall) -> str:
    """Follows what an OPML file lists, in its folders. What takes longer than a moment goes on afterwards."""
    _count_look(call)
    kept = keep_list(reader=call.reader, body=call.body, now=call.now)
    follow_listed(kept, left=TimeBudget(IMPORT_WAITS))
    return "OK"


def quick_add(call: AppCall) -> Shown:
    """Follows what is at an address, in the folder for what nobody says a folder of."""
    url = call.needed("quickadd").removeprefix("feed/")
    _count_look(call)
    try:
        channel = default_channel(call.reader)
        feed = follow_address(channel=channel, url=url, clock=lambda: call.now).follow.feed
    except Refused as error:
        return {"numResults": 0, "query": url, "error": str(error)}
    except ValidationError as error:
        return {"numResults": 0, "query": url, "error": " ".join(error.messages)}
    stream = str(StreamName("feed", str(feed.pk)))
    return {"numResults": 1, "query": feed.url, "streamId": stream, "streamName": feed_title(feed)}


def rename_tag(call: AppCall) -> str:
    folder, name = call.folder("s"), call.label("dest")
    if folder is None or not name:
        raise bad_request("Say which folder, and its new name: s and dest.")
    alter_channel(channel=folder, name=name)
    return "OK"


def disable_tag(call: AppCall) -> str:
    """Ends a folder. Its feeds and posts go into the one for what nobody says a folder of."""
    folder = call.folder("s")
    if folder is None:
        raise bad_request("Say which folder: the parameter s is missing.")
    into = default_channel(call.reader, but=folder)
    if into == folder:
        raise bad_request("This is the only folder. Add another one first.")
    dissolve_channel(channel=folder, into=into, now=call.now)
    return "OK"


def nothing(answer: Told) -> Doing:
    """For what apps ask, and nobody misses."""
    return lambda _: answer


QUESTIONS: Mapping[str, Doing] = {
    "token": show_token,
    "user-info": show_user,
    "tag/list": list_tags,
    "subscription/list": list_subscriptions,
    "subscription/export": export_subscriptions,
    "unread-count": count_unread,
    "stream/items/ids": list_ids,
    "stream/items/contents": show_posts,
    "stream/contents": show_stream,
    "preference/list": nothing({"prefs": []}),
    "preference/stream/list": nothing({"streamprefs": {}}),
    "friend/list": nothing({"friends": []}),
}
CHANGES: Mapping[str, Doing] = {
    "edit-tag": edit_tag,
    "mark-all-as-read": mark_stream_read,
    "subscription/edit": edit_subscription,
    "subscription/quickadd": quick_add,
    "subscription/import": import_subscriptions,
    "rename-tag": rename_tag,
    "disable-tag": disable_tag,
    "preference/set": nothing("OK"),
    "preference/stream/set": nothing("OK"),
}
XML_CALLS = frozenset({"subscription/export"})
# Whose body is a file, whatever the app calls it.
FILE_CALLS = frozenset({"subscription/import"})
# What lists feeds and folders: apps say which answer they have.
SELDOM_CHANGED = frozenset({"tag/list", "subscription/list"})


def folders(call: AppCall) -> dict[int, str]:
    """The names of the channels that feeds stand in, by their keys, in their order."""
    channels = call.reader.channels.filter(is_notifications=False).order_by("position", "pk")
    return dict(channels.values_list("pk", "name"))


def _subscribe(call: AppCall, feed: str) -> None:
    _count_look(call)
    label = call.label("a")
    channel = channel_named(call.reader, label) if label else default_channel(call.reader)
    follow = follow_address(channel=channel, url=feed, clock=lambda: call.now).follow
    if name := call.given.one("t"):
        rename_follow(follow=follow, name=name)


def _unsubscribe(call: AppCall, feed: str) -> None:
    for follow in _follows(call.reader, feed):
        unfollow(channel=follow.channel, feed=follow.feed, now=call.now)


def _edit(call: AppCall, feed: str) -> None:
    """`a` is where the feed goes, `r` where it goes from, `t` what it is called from now on.

    Apps that know of one folder name `a` alone.
    """
    follows = {follow.channel.name: follow for follow in _follows(call.reader, feed)}
    first = next(iter(follows.values()))
    to, away = call.label("a"), call.label("r")
    moved = follows.get(away) or (first if to and len(follows) == 1 else None)
    if moved is not None:
        others = (follow.channel for follow in follows.values() if follow != moved)
        otherwise = next(others, None) or default_channel(call.reader)
        channel = channel_named(call.reader, to) if to else otherwise
        if channel != moved.channel:
            move_follow(follow=moved, to=channel, now=call.now, with_posts=True)
    elif to and to not in follows:
        channel = channel_named(call.reader, to)
        follow_address(channel=channel, url=first.feed.url, clock=lambda: call.now)
    if name := call.given.one("t"):
        for follow in _follows(call.reader, feed):
            rename_follow(follow=follow, name=name)


EDITS: Mapping[str, Callable[[AppCall, str], None]] = {
    "subscribe": _subscribe,
    "unsubscribe": _unsubscribe,
    "edit": _edit,
}


def _follows(reader: Reader, feed: str) -> list[Follow]:
    """Of a feed in all channels. Raises CallError where there are none."""
    rows = Follow.objects.filter(channel__reader=reader, feed=_feed_key(feed))
    found = list(rows.select_related("feed", "channel__reader").order_by("channel__position", "pk"))
    if not found:
        raise unknown("You do not follow this feed.")
    return found


def _feed_key(feed: str) -> int | None:
    """Of a feed that is named by its key or its address; None for what is none of ours."""
    if feed.isascii() and feed.isdigit():
        return int(feed) if len(feed) <= 19 and int(feed) <= LARGEST_KEY else None
    found = shared_feed_at(feed)
    return found.pk if found else None


def _folder(reader: Reader, name: str) -> Channel | None:
    return reader.channels.filter(is_notifications=False, name=name).first()


def _traits(reader: Reader, stream: StreamName) -> tuple[Trait, ...]:
    """What the posts of a stream have; NOTHING for one that is not the reader's."""
    match stream.kind:
        case "label":
            return (_folder(reader, stream.value) or ReadState.NOTHING,)
        case "feed":
            return (_feed_key(stream.value) or ReadState.NOTHING,)
        case _:
            return STATES.get(stream, (ReadState.NOTHING,))


def _stream(call: AppCall) -> str:
    return call.rest or call.given.one("s") or str(names.READING_LIST)


def _selection(call: AppCall) -> Selection:
    """By the stream, `it`, `xt`, `ot` and `nt`. Raises CallError."""
    stream = stream_name(_stream(call))
    if stream is None:
        raise bad_request("s does not name a feed, a folder or a state.")
    since = _moment(call, "ot")
    return Selection(
        call.reader,
        _all_traits(call.reader, [stream, *call.streams("it")]),
        _all_traits(call.reader, call.streams("xt")),
        since=since - OVERLAP if since else None,
        until=_moment(call, "nt"),
    )


def _all_traits(reader: Reader, streams: Iterable[StreamName]) -> tuple[Trait, ...]:
    return tuple(trait for stream in streams for trait in _traits(reader, stream))


def _moment(call: AppCall, name: str) -> datetime | None:
    """Seconds since 1970, or as their number says milliseconds or microseconds; 0 is no moment."""
    text = call.given.one(name)
    if not text or not text.strip("0"):
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise bad_request(f"{name} is a number of seconds, or of microseconds, since 1970.")
    unit = 1 if len(text) >= 16 else 1_000 if len(text) >= 13 else 1_000_000
    try:
        return EPOCH + int(text) * unit * MICROSECOND
    except OverflowError as error:
        raise bad_request(f"{name} is too late.") from error


def _stretch(call: AppCall) -> dict[str, Any]:
    """From where on, and in which order. Raises CallError."""
    text = call.given.one("c")
    try:
        from_ = Key.read(text) if text else None
    except BadCursor as error:
        raise bad_request("c is not a continuation of this server.") from error
    return {"from_": from_, "oldest_first": call.given.one("r") == "o"}


def _items(call: AppCall, entries: Sequence[int]) -> tuple[list[Shown], int | None]:
    """The posts, and the first that is left out, if they are too large together."""
    shown: list[Shown] = []
    labels, characters = folders(call), 0
    for standing in standings(call.reader, entries):
        one = post_shown(standing, labels)
        characters += len(one["summary"]["content"])
        if shown and characters > MOST_CHARACTERS:
            return shown, standing.entry.pk
        shown.append(one)
    return shown, None


def _continuation(following: Key | None) -> Shown:
    """(At the end the key is missing: apps ask on while it is there.)"""
    return {"continuation": str(following)} if following else {}


def _count_look(call: AppCall) -> None:
    """Each may ask other servers a dozen times. Raises CallError."""
    if not is_within(f"reader-looks-{call.reader.pk}", ADDED_A_MINUTE):
        raise CallError(HTTPStatus.TOO_MANY_REQUESTS, "That was often. Wait a minute.")
