"""https://indieweb.org/Microsub-spec"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Max

from common.refused import Refused
from feeds.adding.discover import Candidate
from feeds.models import Feed
from reader.channels.channels import (
    ALL_CHANNELS,
    DuplicateChannel,
    add_channel,
    alter_channel,
    channel_of,
    drop_channel,
    order_channels,
)
from reader.channels.filters import authors_of, mute, unmute
from reader.channels.find import find_feeds, preview, search_posts
from reader.channels.follows import follow_address, move_follow, shared_feed_at, unfollow
from reader.media.icons import feed_icon, jf2_by_proxy, picture_by_proxy
from reader.microsub.items import (
    Json,
    channel_json,
    feed_source,
    insufficient_scope,
    invalid,
    not_found,
    page_json,
)
from reader.models import Channel, Follow, Reader, TimelineEntry, Token, Unread
from reader.rules import parameters
from reader.rules.jf2 import without_nothing
from reader.rules.order import BadCursor, Key, PageRequest, limit_of, number_in
from reader.rules.parameters import Parameters
from reader.timelines import marks, stars
from reader.timelines.pages import Timeline, channels_with_unread, page_of, unread_counts

EVERYTHING = "everything"
Act = Callable[["Call"], Json]


@dataclass(frozen=True, slots=True)
class Call:
    token: Token
    given: Parameters
    now: datetime

    @property
    def reader(self) -> Reader:
        return self.token.reader

    def channel(self, name: str = "channel") -> Channel:
        """Raises ApiError and NoSuchChannel."""
        return channel_of(self.reader, self.given.needed(name))

    def channel_or_all(self) -> Channel | None:
        return None if self.given.needed("channel") == ALL_CHANNELS else self.channel()

    def require(self, *wanted: str) -> None:
        """Raises ApiError."""
        if not set(wanted) & set(self.token.scopes):
            raise insufficient_scope(*wanted)


def answer(call: Call, *, is_post: bool) -> Json:
    """Raises ApiError and Refused."""
    action = call.given.needed("action")
    act = (POSTED if is_post else ASKED).get(action)
    if act is None:
        verb = "changes" if is_post else "tells"
        raise invalid(f"There is no action {action[:50]} that {verb} something.")
    return act(call)


def list_channels(call: Call) -> Json:
    call.require(parameters.READ)
    is_tree = call.given.one("method") == "tree"
    trees = _sources(call.reader) if is_tree else {}
    listed = [
        {**channel_json(channel, count), **({"sources": trees.get(channel.pk, [])} if is_tree else {})}
        for channel, count in channels_with_unread(call.reader)
    ]
    return {"channels": listed}


def change_channels(call: Call) -> Json:
    call.require(parameters.CHANNELS)
    method = call.given.one("method")
    if method == "order":
        uids = call.given.many("channels")
        if not uids:
            raise invalid("The parameter channels is missing.")
        try:
            order_channels(reader=call.reader, uids=uids)
        except Refused as error:
            # Not 404: the channel is one of several.
            raise invalid(str(error)) from error
        return {"channels": [channel_json(*line) for line in channels_with_unread(call.reader)]}
    if method == "delete":
        drop_channel(channel=call.channel(), now=call.now)
        return {"deleted": True}
    if method:
        raise invalid(f"Channels have no method {method[:50]}.")
    name = call.given.needed("name")
    try:
        if call.given.one("channel"):
            channel = alter_channel(channel=call.channel(), name=name)
        else:
            channel = add_channel(reader=call.reader, name=name)
    except DuplicateChannel as error:
        raise invalid(str(error), "duplicate") from error
    return channel_json(channel, unread_counts([channel.pk]).get(channel.pk, 0))


def show_timeline(call: Call) -> Json:
    call.require(parameters.READ)
    timeline = Timeline(call.reader, call.channel_or_all())
    source: Json = {}
    if call.given.one("source"):
        feed = _source_of(timeline, call.given.one("source"))
        timeline = Timeline(call.reader, timeline.channel, feed.pk)
        source = {"source": feed_source(feed)}
    asked = PageRequest(
        newer_than=_cursor(call, "before"),
        from_=_cursor(call, "after"),
        limit=limit_of(call.given.one("limit")),
    )
    page = page_of(timeline, asked, unread_only=call.given.one("is_read") == "false")
    return {**page_json(page, timeline, call.token), **source}


def mark_timeline(call: Call) -> Json:
    call.require(parameters.READ)
    timeline = Timeline(call.reader, call.channel_or_all())
    method = call.given.needed("method")
    changes: Mapping[str, Callable[[Timeline, list[int]], int]] = {
        "mark_read": marks.mark_read,
        "mark_unread": marks.mark_unread,
        "remove": marks.remove,
        "star": lambda _, places: stars.star(
            reader=call.reader, entries=_entries_at(timeline, places), now=call.now
        ),
        "unstar": lambda _, places: stars.unstar(reader=call.reader, entries=_entries_at(timeline, places)),
        # `channel` is the target.
        "move": lambda _, places: marks.move(Timeline(call.reader), places, to=call.channel(), now=call.now),
    }
    if method == "mark_read" and (last := call.given.one("last_read_entry")):
        updated = _mark_from(timeline, last)
    elif method not in changes:
        raise invalid(f"Timelines have no method {method[:50]}.")
    elif not call.given.many("entry"):
        raise invalid("The parameter entry is missing.")
    else:
        numbers = map(number_in, call.given.many("entry"))
        updated = changes[method](timeline, [number for number in numbers if number is not None])
    return {"result": "ok", "updated": updated}


def _entries_at(timeline: Timeline, places: list[int]) -> list[int]:
    rows = TimelineEntry.objects.seen().filter(**timeline.owner, pk__in=places)
    return list(rows.values_list("entry_id", flat=True))


def list_follows(call: Call) -> Json:
    call.require(parameters.READ, parameters.FOLLOW)
    rows = call.channel().follows.select_related("feed__icon").order_by("pk")
    return {"items": [_feed(row) for row in rows]}


def change_follow(call: Call) -> Json:
    call.require(parameters.FOLLOW)
    channel, url = call.channel(), call.given.needed("url")
    method = call.given.one("method")
    if method == "update":
        follows = Follow.objects.filter(channel__reader=call.reader, feed__url=url)
        follow = follows.select_related("feed", "channel__reader").order_by("pk").first()
        if follow is None:
            raise not_found("You don’t follow a feed with this address.")
        return _feed(move_follow(follow=follow, to=channel, now=call.now))
    if method:
        raise invalid(f"Following has no method {method[:50]}.")
    return _feed(follow_address(channel=channel, url=url, clock=lambda: call.now)[0])


def end_follow(call: Call) -> Json:
    call.require(parameters.FOLLOW)
    channel, url = call.channel(), call.given.needed("url")
    follow = channel.follows.filter(feed__url=url).select_related("feed").first()
    feed = follow.feed if follow else shared_feed_at(url)
    if feed is not None:
        unfollow(channel=channel, feed=feed, now=call.now)
    return {"type": "feed", "url": url}


def search(call: Call) -> Json:
    query = call.given.needed("query")
    if call.given.one("channel"):
        call.require(parameters.READ)
        timeline = Timeline(call.reader, call.channel_or_all())
        limit = limit_of(call.given.one("limit"))
        page = search_posts(timeline, query, limit=limit)
        return {"items": page_json(page, timeline, call.token)["items"]}
    call.require(parameters.READ, parameters.FOLLOW)
    feeds = find_feeds(query, now=call.now)
    return {"results": [_found_feed(feed, is_described=True) for feed in feeds]}


def show_preview(call: Call) -> Json:
    call.require(parameters.READ, parameters.FOLLOW)
    feed, posts = preview(call.given.needed("url"), now=call.now)
    items = [jf2_by_proxy(post, site=settings.SITE_URL) for post in posts]
    return {**_found_feed(feed), "items": items}


def list_muted(is_block: bool) -> Act:
    def act(call: Call) -> Json:
        call.require(parameters.BLOCK if is_block else parameters.MUTE)
        # Of exactly this channel; None: of all channels at once.
        rows = call.reader.mutes.filter(channel=call.channel_or_all(), is_block=is_block)
        authors = authors_of(call.reader, [row.key for row in rows])
        return {"items": [_card(row.url, authors.get(row.key, {})) for row in rows]}

    return act


def _card(url: str, author: Mapping[str, Any]) -> Json:
    photo = picture_by_proxy(author.get("photo"), site=settings.SITE_URL)
    return without_nothing({"type": "card", "url": url, "name": author.get("name"), "photo": photo})


def change_muted(is_block: bool, *, ends: bool) -> Act:
    def act(call: Call) -> Json:
        call.require(parameters.BLOCK if is_block else parameters.MUTE)
        channel, url = call.channel_or_all(), call.given.needed("url")
        if ends:
            unmute(reader=call.reader, channel=channel, url=url, is_block=is_block)
        else:
            mute(reader=call.reader, channel=channel, url=url, now=call.now, is_block=is_block)
        return {"type": "card", "url": url}

    return act


ASKED: Mapping[str, Act] = {
    "channels": list_channels,
    "timeline": show_timeline,
    "follow": list_follows,
    "search": search,
    "preview": show_preview,
    "mute": list_muted(is_block=False),
    "block": list_muted(is_block=True),
}
POSTED: Mapping[str, Act] = {
    "channels": change_channels,
    "timeline": mark_timeline,
    "follow": change_follow,
    "unfollow": end_follow,
    "search": search,
    "preview": show_preview,
    "mute": change_muted(is_block=False, ends=False),
    "unmute": change_muted(is_block=False, ends=True),
    "block": change_muted(is_block=True, ends=False),
    "unblock": change_muted(is_block=True, ends=True),
}


def _mark_from(timeline: Timeline, last: str) -> int:
    if last == EVERYTHING:
        return marks.mark_all_read(timeline)
    place = number_in(last)
    if place is None:
        raise invalid("last_read_entry isn’t a post in this channel.")
    return marks.mark_read_from(timeline, place)


def _cursor(call: Call, name: str) -> Key | None:
    text = call.given.one(name)
    try:
        return Key.read(text) if text else None
    except BadCursor as error:
        raise invalid(f"{name} isn’t a cursor of this server.", "invalid_cursor") from error


def _source_of(timeline: Timeline, text: str) -> Feed:
    """Return a feed with follows or posts there. Raises ApiError."""
    pk = number_in(text)
    in_channel = {"channel": timeline.channel} if timeline.channel else {"channel__reader": timeline.reader}
    if pk is not None and (
        Follow.objects.filter(**in_channel, feed=pk).exists()
        or TimelineEntry.objects.seen().filter(**timeline.owner, feed=pk).exists()
    ):
        return Feed.objects.get(pk=pk)
    raise not_found("This channel has no such source.")


def _feed(follow: Follow) -> Json:
    photo = feed_icon(follow.feed, site=settings.SITE_URL)
    return without_nothing({"type": "feed", "url": follow.feed.url, "name": follow.title, "photo": photo})


def _found_feed(feed: Candidate, *, is_described: bool = False) -> Json:
    parsed = feed.looked.parsed
    photo = picture_by_proxy(parsed.channel.image if parsed else "", site=settings.SITE_URL)
    more = {"description": parsed.description} if parsed and is_described else {}
    return without_nothing({"type": "feed", "url": feed.url, "name": feed.title, "photo": photo, **more})


def _sources(reader: Reader) -> dict[int, list[Json]]:
    """Return feeds by channel, with counts."""
    rows = Follow.objects.of(reader).select_related("feed").order_by("pk")
    places = TimelineEntry.objects.seen().filter(reader=reader).order_by().values("channel", "feed")
    totals = {
        (row["channel"], row["feed"]): row for row in places.annotate(total=Count("pk"), last=Max("at"))
    }
    unread = Unread.objects.filter(reader=reader).order_by().values("channel", feed=F("place__feed"))
    counts = {(row["channel"], row["feed"]): row["n"] for row in unread.annotate(n=Count("pk"))}
    sources: dict[int, list[Json]] = {}
    for row in rows:
        key = (row.channel_id, row.feed_id)
        known = totals.get(key)
        sources.setdefault(row.channel_id, []).append(
            {
                "uid": str(row.feed_id),
                "url": row.feed.url,
                "name": row.title,
                "unread": counts.get(key, 0),
                "total": known["total"] if known else 0,
                **({"last_update": known["last"].isoformat()} if known else {}),
            }
        )
    return sources
