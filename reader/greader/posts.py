from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from reader.greader.app_call import (
    MOST_POSTS,
    AppCall,
    Shown,
    bad_request,
    feed_key,
    microseconds,
    post_shown,
    unknown,
)
from reader.people import picks
from reader.rules import google_names as names
from reader.rules.google_names import StreamName, stream_name
from reader.rules.order import EPOCH, MICROSECOND, BadCursor, Key, PageRequest, limit_of
from reader.timelines import marks, stars
from reader.timelines.pages import Timeline
from reader.timelines.selections import (
    ReadState,
    Selection,
    Trait,
    mark_selected_read,
    select,
    standings,
    unread_tallies,
)

MOST_IDS = 10_000
# The next request gets the rest.
MOST_CHARACTERS = 32_000_000
# Apps remember the time of their last request, by their own clock or to the second.
OVERLAP = timedelta(seconds=60)
STATES: Mapping[StreamName, tuple[Trait, ...]] = {
    names.READING_LIST: (),
    names.READ: (ReadState.READ,),
    names.UNREAD: (ReadState.UNREAD,),
    names.KEPT_UNREAD: (ReadState.UNREAD,),
    names.TRACKING_UNREAD: (ReadState.UNREAD,),
    names.STARRED: (ReadState.STARRED,),
}
# Per second.
NANO = 1_000_000_000
# Adding (a) and removing (r) states.
MADE_READ = {("a", names.READ), ("r", names.UNREAD), ("r", names.KEPT_UNREAD)}
MADE_UNREAD = {("r", names.READ), ("a", names.UNREAD), ("a", names.KEPT_UNREAD)}


def count_unread(call: AppCall) -> Shown:
    feeds, channels = unread_tallies(call.reader)
    labels = call.folders()
    counts = {StreamName("feed", str(feed)): tally for feed, tally in feeds.items()}
    counts |= {StreamName("label", labels[one]): tally for one, tally in channels.items() if one in labels}
    total = sum(number for number, _ in feeds.values())
    if total:
        counts[names.READING_LIST] = total, max(newest for _, newest in feeds.values())
    listed = [
        {"id": str(name), "count": number, "newestItemTimestampUsec": microseconds(newest)}
        for name, (number, newest) in counts.items()
    ]
    return {"max": total, "unreadcounts": listed}


def list_ids(call: AppCall) -> Shown:
    keys, limit = _page(call, MOST_IDS)
    entries = list(keys)
    refs = [{"id": str(entry)} for entry in entries[:limit]]
    return {"itemRefs": refs, **_continuation(keys, entries[limit:])}


def show_stream(call: AppCall) -> Shown:
    """Posts beyond the limit begin the next page."""
    keys, limit = _page(call, MOST_POSTS)
    entries = list(keys)
    shown, left = _items(call, entries[:limit])
    name = stream_name(_stream(call)) or names.READING_LIST
    more = _continuation(keys, left or entries[limit:])
    return {"id": str(name), "updated": int(call.now.timestamp()), "items": shown, **more}


def show_posts(call: AppCall) -> Shown:
    """Apps request those again that don't fit."""
    shown, _ = _items(call, call.posts())
    return {"id": str(names.READING_LIST), "updated": int(call.now.timestamp()), "items": shown}


def edit_tag(call: AppCall) -> str:
    """Mark or star posts, ignoring unknown ones. An invalid id refuses the whole call.

    Impossible changes are refused only if there is no other. Labels tag the stars of open picks.
    """
    posts = call.posts()
    if len(posts) < len(call.given.many("i")):
        raise bad_request("i isn’t the id of a post.")
    named = [(way, stream_name(text)) for way in "ar" for text in call.given.many(way)]
    changes = {(way, stream) for way, stream in named if stream and stream.kind == "state"}
    labels = {(way, stream.value) for way, stream in named if stream and stream.kind == "label"}
    if labels and not changes and not call.reader.has_picks:
        raise bad_request("Only feeds can be put into folders, not single posts.")
    if named and not changes and not labels:
        raise bad_request("a and r must name states, such as user/-/state/com.google/read.")
    timeline = Timeline(call.reader)
    if changes & MADE_READ and changes & MADE_UNREAD:
        changes -= MADE_READ | MADE_UNREAD
        if not changes:
            raise bad_request("A post can’t be both read and unread.")
    if changes & MADE_READ:
        marks.mark_read(timeline, marks.places_of(call.reader, posts))
    if changes & MADE_UNREAD:
        marks.mark_unread(timeline, marks.places_of(call.reader, posts))
    if ("a", names.STARRED) in changes:
        stars.star(reader=call.reader, entries=posts, now=call.now)
    if ("r", names.STARRED) in changes:
        stars.unstar(reader=call.reader, entries=posts)
    if call.reader.has_picks and (labels or call.given.one("annotation")):
        added, removed = ([name for way, name in sorted(labels) if way == each] for each in "ar")
        picks.tag(call.reader, posts, added, removed, note=call.given.one("annotation"))
    return "OK"


def mark_stream_read(call: AppCall) -> str:
    """Mark posts of `s` that arrived by `ts`."""
    call.given.needed("s")
    until = _moment(call, "ts", most_digits=19) or call.now
    for stream in call.streams("s"):
        if stream.kind == "feed":
            call.follows(stream.value)
        traits = _traits(call, stream)
        if ReadState.NOTHING in traits:
            raise unknown("Folder not found.")
        mark_selected_read(Selection(call.reader, traits, until=until))
    return "OK"


def _traits(call: AppCall, *streams: StreamName) -> tuple[Trait, ...]:
    return tuple(trait for stream in streams for trait in _traits_of(call, stream))


def _traits_of(call: AppCall, stream: StreamName) -> tuple[Trait, ...]:
    """Return NOTHING for unknown streams."""
    match stream.kind:
        case "label":
            return (call.folder_named(stream.value) or ReadState.NOTHING,)
        case "feed":
            return (feed_key(stream.value) or ReadState.NOTHING,)
        case _:
            return STATES.get(stream, (ReadState.NOTHING,))


def _stream(call: AppCall) -> str:
    return call.rest or call.given.one("s") or str(names.READING_LIST)


def _moment(call: AppCall, name: str, *, most_digits: int = 18) -> datetime | None:
    """Parse seconds, or milli-, micro- or nanoseconds by the digits. 0 is None.

    Apps send nanoseconds (19 digits) only to mark streams.
    """
    text = call.given.one(name)
    if not text or not text.strip("0"):
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= most_digits):
        raise bad_request(f"{name} must be a number of seconds or microseconds since 1970.")
    nanoseconds = (
        1 if len(text) == 19 else 1_000 if len(text) >= 16 else 1_000_000 if len(text) >= 13 else NANO
    )
    try:
        return EPOCH + int(text) * nanoseconds // 1_000 * MICROSECOND
    except OverflowError as error:
        raise bad_request(f"{name} is too far in the future.") from error


def _page(call: AppCall, most: int) -> tuple[dict[int, Key], int]:
    """Return entries with their keys, and how many belong to this page: one more begins the next."""
    text, limit = call.given.one("c"), limit_of(call.given.one("n"), most)
    try:
        from_ = Key.read(text) if text else None
    except BadCursor as error:
        raise bad_request("c isn’t a continuation from this server.") from error
    asked = PageRequest(from_=from_, limit=limit, oldest_first=call.given.one("r") == "o")
    stream = stream_name(_stream(call))
    if stream is None:
        raise bad_request("s must be a feed, folder or state.")
    since = _moment(call, "ot")
    selection = Selection(
        call.reader,
        _traits(call, stream, *call.streams("it")),
        _traits(call, *call.streams("xt")),
        since=since - OVERLAP if since else None,
        until=_moment(call, "nt"),
    )
    return select(selection, asked), limit


def _items(call: AppCall, entries: Sequence[int]) -> tuple[list[Shown], list[int]]:
    """Return the posts that fit, and the first other one, if any."""
    shown: list[Shown] = []
    labels, characters = call.folders(), 0
    for standing in standings(call.reader, entries):
        post = post_shown(standing, labels)
        characters += len(post["summary"]["content"])
        if shown and characters > MOST_CHARACTERS:
            return shown, [standing.entry.pk]
        shown.append(post)
    return shown, []


def _continuation(keys: Mapping[int, Key], following: Sequence[int]) -> Shown:
    """Apps continue while it is present."""
    return {"continuation": str(keys[following[0]])} if following else {}
