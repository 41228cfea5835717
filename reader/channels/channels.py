import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Min
from django.utils.translation import gettext, ngettext

from common.clock import utcnow
from common.ports.channel_letters import letter_newsletters
from common.refused import Refused, TranslatedRefusal
from common.text import one_line
from feeds.models import Feed
from reader.models import Channel, Follow, Letters, Reader, TimelineEntry, Unread

NOTIFICATIONS, HOME = "notifications", "home"
ALL_CHANNELS = "global"
MAX_CHANNELS = 100
LONGEST_CHANNEL_NAME = 100
DELETED_TOGETHER = 5_000


class DuplicateChannel(TranslatedRefusal):
    pass


class NoSuchChannel(Refused):
    """Missing, or another reader's: errors must not tell which."""


def channel_of(reader: Reader, uid: str) -> Channel:
    """Raises NoSuchChannel."""
    channel = reader.channels.filter(uid=uid).first()
    if channel is None:
        raise NoSuchChannel("Channel not found.", "channel")
    return channel


def channel_named(reader: Reader, name: str) -> Channel:
    """Raises Refused."""
    return reader.channels.filter(name=one_line(name)).first() or add_channel(reader=reader, name=name)


def default_channel(reader: Reader, *, but: Channel | None = None) -> Channel:
    """Return Home or the first channel, created if there is none."""
    channels = reader.channels.filter(is_notifications=False).order_by("position", "pk")
    left = channels.exclude(pk=but.pk) if but else channels
    return left.filter(uid=HOME).first() or left.first() or channel_named(reader, "Home")


@transaction.atomic
def add_channel(*, reader: Reader, name: str) -> Channel:
    """Add it on top. Raises Refused."""
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    name = _checked_name(reader, name)
    if reader.channels.count() >= MAX_CHANNELS:
        words = ngettext(
            "You can have at most %(most)s channel. Delete it first.",
            "You can have at most %(most)s channels. Delete one first.",
            MAX_CHANNELS,
        )
        raise TranslatedRefusal(words % {"most": MAX_CHANNELS}, "name")
    top = reader.channels.filter(is_notifications=False).aggregate(top=Min("position"))["top"] or 0
    return Channel.objects.create(reader=reader, uid=secrets.token_hex(6), name=name, position=top - 1)


@transaction.atomic
def alter_channel(*, channel: Channel, **changes: Any) -> Channel:
    """Raises Refused. The uid stays."""
    Reader.objects.select_for_update(no_key=True).get(pk=channel.reader_id)
    if "name" in changes:
        _refuse_notifications(channel)
        changes["name"] = _checked_name(channel.reader, changes["name"], but=channel)
    for name, value in changes.items():
        setattr(channel, name, value)
    channel.save(update_fields=list(changes))
    if "name" in changes:
        for letters in Letters.objects.filter(channel=channel, since__isnull=False):
            letter_newsletters().fit(letters, now=utcnow())
    return channel


@transaction.atomic
def order_channels(*, reader: Reader, uids: Sequence[str]) -> None:
    """Reorder channels within the places that they occupy."""
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    listed = list(reader.channels.order_by("-is_notifications", "position", "pk"))
    known = {channel.uid: channel for channel in listed}
    if any(uid not in known for uid in uids):
        raise NoSuchChannel("Channel not found.", "channels")
    wanted = [known[uid] for uid in dict.fromkeys(uids) if not known[uid].is_notifications]
    turns = iter(wanted)
    ordered = [next(turns) if channel in wanted else channel for channel in listed]
    for position, channel in enumerate(ordered):
        channel.position = position
    Channel.objects.bulk_update(ordered, ["position"])


@transaction.atomic
def choose_columns(*, reader: Reader, uids: Sequence[str]) -> None:
    reader.channels.exclude(uid__in=uids).update(in_deck=False)
    reader.channels.filter(uid__in=uids).update(in_deck=True)


def drop_channel(*, channel: Channel, now: datetime) -> None:
    """Raises Refused for the notifications.

    Deletes some thousand posts per transaction, as each blocks other writers on SQLite.
    """
    _refuse_notifications(channel)
    letter_newsletters().drop(channel, now=now)
    feeds = list(channel.follows.values_list("feed_id", flat=True))
    with transaction.atomic():
        # No new posts after this.
        Follow.objects.filter(channel=channel).delete()
        count_followers(feeds, now=now)
    empty_channel(channel)
    channel.delete()


def empty_channel(channel: Channel) -> None:
    places = TimelineEntry.objects.filter(channel=channel).order_by("pk").values_list("pk", flat=True)
    while pks := list(places[:DELETED_TOGETHER]):
        with transaction.atomic():
            Unread.objects.filter(place__gte=pks[0], place__lte=pks[-1], channel=channel).delete()
            TimelineEntry.objects.filter(pk__gte=pks[0], pk__lte=pks[-1], channel=channel).delete()


def count_followers(feeds: Iterable[int], *, now: datetime) -> None:
    """Runs in the caller's transaction. Polls report posts only if there are followers."""
    keys = sorted(set(feeds))
    list(Feed.objects.filter(pk__in=keys).order_by("pk").select_for_update().values_list("pk", flat=True))
    followed = Follow.objects.filter(feed__in=keys).order_by().values("feed").annotate(n=Count("pk"))
    counts = dict(followed.values_list("feed", "n"))
    for key in keys:
        left = {} if counts.get(key) else {"unread_since": now}
        Feed.objects.filter(pk=key).update(read_by=counts.get(key, 0), **left)


def _checked_name(reader: Reader, name: str, but: Channel | None = None) -> str:
    name = one_line(name)
    if not 1 <= len(name) <= LONGEST_CHANNEL_NAME:
        raise TranslatedRefusal(name_of_at_most(LONGEST_CHANNEL_NAME), "name")
    same = reader.channels.filter(name=name)
    if (same.exclude(pk=but.pk) if but else same).exists():
        raise DuplicateChannel(gettext("You already have a channel with that name."), "name")
    return name


def name_of_at_most(most: int) -> str:
    words = ngettext(
        "Enter a name of at most %(most)s character.", "Enter a name of at most %(most)s characters.", most
    )
    return words % {"most": most}


def _refuse_notifications(channel: Channel) -> None:
    if channel.is_notifications:
        words = gettext("The notifications channel can’t be renamed, moved or deleted.")
        raise TranslatedRefusal(words, "channel")
