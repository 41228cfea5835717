"""Channels, notifications and muted authors of somebody who reads here, from another program."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from common.patterns import MATCHES, InvalidPattern, check_pattern
from common.refused import Refused
from common.text import one_line, pluralize, without_controls
from feedletter_site.migrate_from.jf2 import author_of, post_of
from feedletter_site.migrate_from.source import Origins, Part
from migrate_from.microsub.files import NOTIFICATIONS, Export, deck_of, entries_of, mentions_of, mutes_of
from migrate_from.records import ImportResult, Line, OldChannel, OldEntry, OldMention, OldMute
from reader.channels.channels import order_channels
from reader.channels.filters import checked_key, mute
from reader.channels.taken_over import take_channel
from reader.mentions.receive import known_pairs, pair_of, take_mention
from reader.models import Channel, Reader, TimelineEntry
from reader.rules.filters import LONGEST_TERM
from reader.rules.jf2 import KINDS, author_key
from reader.rules.mentions import MENTION, comparable

CHANNEL, FEED, ORDER, MUTE, REST = "channel", "feed", "order", "mute", "unfollowed"
# Of JavaScript; they mean something else in our expressions.
_OTHER_MEANING = re.compile(r"\\[AaZzGKRXhHQELNpPmM]|\[\^?[\[\]]")


@dataclass(slots=True)
class Move:
    """One person's data. `owners`: their ids there; `channels` by their keys."""

    reader: Reader
    owners: frozenset[str]
    export: Export
    channels: Mapping[str, OldChannel]
    now: datetime

    def key(self, old_key: str) -> str:
        """Several readers may import the same export."""
        return f"{self.reader.pk}/{without_controls(old_key)}"[:100]

    def channel(self, origins: Origins, old_key: str) -> Channel | None:
        origin = origins.find(CHANNEL, self.key(old_key))
        return self.reader.channels.filter(pk=origin.row).first() if origin else None

    def is_own(self, owner: str) -> bool:
        """Without an owner it is everybody’s."""
        return not owner or owner in self.owners

    def is_read(self, entry: OldEntry) -> bool:
        return entry.is_stripped or not self.owners.isdisjoint(entry.read_by)

    def came_at(self, entry: OldEntry) -> datetime:
        return min(entry.came_at or self.now, self.now)


@dataclass(slots=True)
class ChannelsPart(Part):
    move: Move
    channels: Sequence[OldChannel]
    name: str = "channels"

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        with transaction.atomic():
            lines = self.take(origins, now=now)
            transaction.set_rollback(True)
        return lines

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        lines = [line for one in self.channels for line in self._take(one, origins, now)]
        if origins.find(ORDER, self.move.key(ORDER)) is None:
            lines += self._arrange(origins, now)
        return lines

    def _take(self, old: OldChannel, origins: Origins, now: datetime) -> Iterator[Line]:
        if origins.find(CHANNEL, self.move.key(old.key)):
            yield Line(ImportResult.THERE, "channel", old.name, "It was imported before.")
            return
        kinds, lost = _kinds(old)
        term, trouble = _term(old.pattern)
        hide = [term] if term else []
        try:
            with transaction.atomic():
                channel = take_channel(
                    reader=self.move.reader, uid=old.uid, name=old.name, kinds=kinds, hide=hide
                )
                origins.note(CHANNEL, self.move.key(old.key), channel.pk, now=now, finished=True)
        except Refused as error:
            yield Line(ImportResult.REFUSED, "channel", old.name, str(error))
            return
        yield Line(ImportResult.TAKEN, "channel", old.name, f"It is your channel “{channel}”.")
        if channel.uid != old.uid:
            words = f"Its uid was “{old.uid}”, and is “{channel.uid}” now. Apps that name it must ask again."
            yield Line(ImportResult.CHANGED, "channel", old.name, words)
        if kinds or term:
            yield Line(ImportResult.TAKEN, "filter", old.name, f"Hidden: {', '.join([*kinds, *hide])}")
        if trouble:
            yield Line(ImportResult.REFUSED, "filter", old.name, f"excludeRegex: {trouble} Write it anew.")
        if lost:
            words = f"These settings have no equivalent here: {'; '.join(lost)}."
            yield Line(ImportResult.CHANGED, "settings", old.name, words)

    def _arrange(self, origins: Origins, now: datetime) -> Iterator[Line]:
        """Order channels and set the columns of the deck, once."""
        taken = {old.key: self.move.channel(origins, old.key) for old in self.channels}
        ordered = [channel for channel in taken.values() if channel is not None]
        deck = [(at, key) for owner, at, key in deck_of(self.move.export) if self.move.is_own(owner)]
        shown = [key for _, key in sorted(deck) if taken.get(key)]
        with transaction.atomic():
            order_channels(reader=self.move.reader, uids=[channel.uid for channel in ordered])
            if shown:
                pks = [one.pk for key in shown if (one := taken[key])]
                own = Channel.objects.filter(pk__in=[channel.pk for channel in ordered])
                own.update(in_deck=Q(pk__in=pks))
            origins.note(ORDER, self.move.key(ORDER), self.move.reader.pk, now=now, finished=True)
        if not shown:
            return
        yield Line(ImportResult.TAKEN, "deck", "deck", f"It shows {pluralize(len(shown), 'channel')}.")
        if shown != [key for key in taken if key in shown]:
            words = "Its columns are in the order of the channels now."
            yield Line(ImportResult.CHANGED, "deck", "deck", words)


def _kinds(old: OldChannel) -> tuple[tuple[str, ...], list[str]]:
    """Return our kinds, and settings that have no equivalent."""
    lost, kinds = list(old.lost), tuple(kind for kind in KINDS if kind in old.kinds)
    if unknown := [kind for kind in old.kinds if kind not in KINDS]:
        lost.append(f"excludeTypes {', '.join(unknown)}"[:200])
    if len(kinds) == len(KINDS):
        return (), [*lost, "excludeTypes (all of them)"]
    return kinds, lost


def _term(pattern: str) -> tuple[str, str]:
    """Return a filter's term and why there is none. There it ignored case, and slashes were literal."""
    if not pattern.strip():
        return "", ""
    term = f"/{pattern}/i"
    if len(term) > LONGEST_TERM or term != one_line(term):
        return "", f"It has more than one line or {LONGEST_TERM} characters."
    if _OTHER_MEANING.search(pattern):
        return "", "It uses signs that have another meaning here."
    try:
        check_pattern(MATCHES, f"(?i){pattern}")
    except InvalidPattern as error:
        return "", str(error)
    return term, ""


@dataclass(slots=True)
class NotificationsPart(Part):
    move: Move
    name: str = NOTIFICATIONS

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        wanted = [one for one in self._wanted() if comparable(one.source) and comparable(one.target)]
        pairs = {pair_of(one.source, one.target) for one in wanted} - known_pairs(self.move.reader)
        return [self._taken(len(pairs))] if pairs else []

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Known pairs of source and target are left out."""
        counts, lines = Counter[bool](), []
        for one in self._wanted():
            try:
                is_new = take_mention(
                    reader=self.move.reader,
                    source=one.source,
                    target=one.target,
                    post=post_of(one.entry.jf2, ""),
                    kind=one.kind if one.kind in KINDS else MENTION,
                    came_at=self.move.came_at(one.entry),
                    is_read=self.move.is_read(one.entry),
                    now=now,
                )
            except Refused as error:
                lines.append(
                    Line(ImportResult.REFUSED, "notification", one_line(one.source)[:200], str(error))
                )
            else:
                counts[is_new] += 1
        if counts[True]:
            lines.append(self._taken(counts[True]))
        if counts[False]:
            name = pluralize(counts[False], "notification")
            words = "There already, or their authors are blocked."
            lines.append(Line(ImportResult.THERE, "notifications", name, words, count=counts[False]))
        return lines

    def _wanted(self) -> Iterator[OldMention]:
        return (one for one in mentions_of(self.move.export) if self.move.is_own(one.owner))

    def _taken(self, count: int) -> Line:
        name = pluralize(count, "notification")
        return Line(ImportResult.TAKEN, "notifications", name, "In Notifications.", count=count)


@dataclass(slots=True)
class MutesPart(Part):
    move: Move
    name: str = "muted and blocked authors"

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        wanted = list(self._wanted())
        hidden = self._counts() if wanted else Counter[tuple[str, str]]()
        lines = []
        for one in wanted:
            if origins.find(MUTE, self._old_key(one)):
                lines.append(_there(one))
                continue
            keys = [one.channel] if one.channel else list(self.move.channels)
            try:
                author = checked_key(one.url)
            except Refused as error:
                name = one_line(one.url)[:200]
                lines.append(Line(ImportResult.REFUSED, _kind(one), name, str(error)))
            else:
                lines.append(_hides(one, sum(hidden[key, author] for key in keys)))
        return lines

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        return [self._take(one, origins, now) for one in self._wanted()]

    def _take(self, one: OldMute, origins: Origins, now: datetime) -> Line:
        reader, key = self.move.reader, self._old_key(one)
        if origins.find(MUTE, key):
            return _there(one)
        channel = self.move.channel(origins, one.channel) if one.channel else None
        if one.channel and channel is None:
            why = "Its channel wasn’t imported, or was deleted here."
            return Line(ImportResult.REFUSED, _kind(one), one.url, why)
        places = TimelineEntry.objects.seen().filter(reader=reader, entry__author_key=author_key(one.url))
        count = (places.filter(channel=channel) if channel else places).count()
        try:
            with transaction.atomic():
                mute(reader=reader, channel=channel, url=one.url, now=now, is_block=one.is_block)
                origins.note(MUTE, key, reader.pk, now=now, finished=True)
        except Refused as error:
            return Line(ImportResult.REFUSED, _kind(one), one_line(one.url)[:200], str(error))
        return _hides(one, count)

    def _wanted(self) -> Iterator[OldMute]:
        for one in mutes_of(self.move.export):
            if self.move.is_own(one.owner) and (not one.channel or one.channel in self.move.channels):
                yield one

    def _counts(self) -> Counter[tuple[str, str]]:
        """Count posts by channel and author."""
        counts = Counter[tuple[str, str]]()
        for channel, feed in self.move.export.items:
            if channel in self.move.channels:
                for entry in entries_of(self.move.export, (channel, feed)):
                    if not entry.is_stripped:
                        counts[channel, author_key(author_of(entry.jf2).url)] += 1
        return counts

    def _old_key(self, one: OldMute) -> str:
        return self.move.key(f"{int(one.is_block)}/{one.channel}/{author_key(one.url)}")


def _kind(one: OldMute) -> str:
    return "blocked author" if one.is_block else "muted author"


def _there(one: OldMute) -> Line:
    return Line(ImportResult.THERE, _kind(one), one.url, "It was imported before.")


def _hides(one: OldMute, count: int) -> Line:
    posts = pluralize(count, "post")
    words = f"Removes {posts}." if one.is_block else f"Hides {posts}."
    return Line(ImportResult.TAKEN, _kind(one), one_line(one.url)[:200], words)
