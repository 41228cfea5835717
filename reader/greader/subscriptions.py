from datetime import timedelta
from http import HTTPStatus

from django.core.exceptions import ValidationError

from common.passes import TimeBudget
from common.refused import Refused
from reader.channels.channels import alter_channel, channel_named, default_channel
from reader.channels.follows import (
    dissolve_channel,
    follow_address,
    may_look,
    move_follow,
    rename_follow,
    unfollow,
)
from reader.channels.opml import export_follows, follow_listed, keep_list
from reader.greader.app_call import AppCall, CallError, Shown, bad_request, subscription
from reader.models import Follow
from reader.rules import google_names as names
from reader.rules.google_names import StreamName

# Most imports are done sooner.
IMPORT_WAITS = timedelta(seconds=2)


def list_tags(call: AppCall) -> Shown:
    listed = [{"id": str(StreamName("label", name)), "type": "folder"} for name in call.folders().values()]
    return {"tags": [{"id": str(names.STARRED)}, *listed]}


def list_subscriptions(call: AppCall) -> Shown:
    rows = Follow.objects.filter(channel__reader=call.reader).select_related("feed__icon", "channel")
    follows: dict[int, tuple[Follow, list[str]]] = {}
    for row in rows.order_by("channel__position", "channel", "pk"):
        follows.setdefault(row.feed_id, (row, []))[1].append(row.channel.name)
    return {"subscriptions": [subscription(follow, labels) for follow, labels in follows.values()]}


def edit_subscription(call: AppCall) -> str:
    edits = {"subscribe": _subscribe, "unsubscribe": _unsubscribe, "edit": _edit}
    act = edits.get(call.given.needed("ac"))
    if act is None:
        raise bad_request("ac must be subscribe, unsubscribe or edit.")
    feeds = [one.value for one in call.streams("s") if one.kind == "feed"]
    if not feeds:
        raise bad_request("The parameter s (the feed) is missing.")
    for feed in feeds:
        act(call, feed)
    return "OK"


def export_subscriptions(call: AppCall) -> str:
    return "".join(export_follows(call.reader, now=call.now))


def import_subscriptions(call: AppCall) -> str:
    """Workers finish long lists."""
    _count_look(call)
    kept = keep_list(reader=call.reader, body=call.body, now=call.now)
    follow_listed(kept, left=TimeBudget(IMPORT_WAITS))
    return "OK"


def quick_add(call: AppCall) -> Shown:
    _count_look(call)
    url = _address_of(call, call.given.needed("quickadd").removeprefix("feed/"))
    try:
        channel = default_channel(call.reader)
        feed = follow_address(channel=channel, url=url, clock=lambda: call.now)[0].feed
    except Refused as error:
        return {"numResults": 0, "query": url, "error": str(error)}
    except ValidationError as error:
        return {"numResults": 0, "query": url, "error": " ".join(error.messages)}
    stream = str(StreamName("feed", str(feed.pk)))
    return {"numResults": 1, "query": feed.url, "streamId": stream, "streamName": feed.title or feed.host}


def rename_tag(call: AppCall) -> str:
    folder, name = call.folder("s"), call.label("dest")
    if folder is None or not name:
        raise bad_request("The parameters s (the folder) and dest (its new name) are required.")
    alter_channel(channel=folder, name=name)
    return "OK"


def disable_tag(call: AppCall) -> str:
    """Its feeds and posts go into the default channel."""
    folder = call.folder("s")
    if folder is None:
        raise bad_request("The parameter s (the folder) is missing.")
    into = default_channel(call.reader, but=folder)
    if into == folder:
        raise bad_request("This is the only folder. Add another one first.")
    dissolve_channel(channel=folder, into=into, now=call.now)
    return "OK"


def _subscribe(call: AppCall, feed: str) -> None:
    _count_look(call)
    label = call.label("a")
    channel = channel_named(call.reader, label) if label else default_channel(call.reader)
    follow, _ = follow_address(channel=channel, url=_address_of(call, feed), clock=lambda: call.now)
    if name := call.given.one("t"):
        rename_follow(follow=follow, name=name)


def _address_of(call: AppCall, feed: str) -> str:
    """Return the address of a feed that they follow; apps send its key, too. Raises CallError."""
    return call.follows(feed)[0].feed.url if feed.isascii() and feed.isdigit() else feed


def _unsubscribe(call: AppCall, feed: str) -> None:
    for follow in call.follows(feed):
        unfollow(channel=follow.channel, feed=follow.feed, now=call.now)


def _edit(call: AppCall, feed: str) -> None:
    """Move a feed from `r` to `a`, and name it `t`. Some apps send only `a`."""
    follows = {follow.channel.name: follow for follow in call.follows(feed)}
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
        for follow in call.follows(feed):
            rename_follow(follow=follow, name=name)


def _count_look(call: AppCall) -> None:
    if not may_look(call.reader):
        raise CallError(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests. Wait a minute.")
