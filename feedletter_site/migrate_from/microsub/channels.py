from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from common.refused import Refused
from common.text import one_line, pluralize, without_controls
from feedletter_site.migrate_from.microsub import rows
from feedletter_site.migrate_from.microsub.documents import Document
from feedletter_site.migrate_from.microsub.files import NOTIFICATIONS, Export
from feedletter_site.migrate_from.microsub.rows import OldChannel
from feedletter_site.migrate_from.source import Origins, TakenMeanwhile
from feeds.models import Feed
from feeds.parsing.entry import Entry as Post
from feeds.polling.read import FetchResult
from migrate_from.records import ImportResult, Line
from reader.channels.channels import order_channels
from reader.channels.filters import checked_key, mute
from reader.channels.taken_over import take_channel, take_deck
from reader.mentions.receive import pair_of
from reader.mentions.taken_over import known_pairs, take_mention
from reader.models import Channel, Reader, TimelineEntry
from reader.rules.authors import author_key
from reader.rules.kinds import KINDS
from reader.rules.mentions import MENTION, comparable

CHANNEL, FEED, ORDER, MUTE, REST = "channel", "feed", "order", "mute", "unfollowed"


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


@dataclass(slots=True)
class MicrosubPart:
    move: Move

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        return None

    def take_feed(
        self, origins: Origins, answer: FetchResult, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        raise Refused("It has no feed.")


@dataclass(slots=True)
class ChannelsPart(MicrosubPart):
    channels: Sequence[OldChannel]
    name: str = "channels"

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        return [line for one in self.channels for line in self._preview(one, origins)]

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        lines = [line for one in self.channels for line in self._take(one, origins, now)]
        if origins.find(ORDER, self.move.key(ORDER)) is None:
            lines += self._arrange(origins, now)
        return lines

    def _preview(self, old: OldChannel, origins: Origins) -> Iterator[Line]:
        if origins.find(CHANNEL, self.move.key(old.key)):
            yield Line(ImportResult.THERE, "channel", old.name, "It was imported before.")
            return
        channels = self.move.reader.channels
        there = channels.filter(uid=old.uid).first() or channels.filter(name=old.name).first()
        words = f"Your channel “{there}” gets its feeds and posts." if there else "It keeps its uid."
        yield Line(ImportResult.TAKEN, "channel", old.name, words)
        yield from _about_settings(old)

    def _take(self, old: OldChannel, origins: Origins, now: datetime) -> Iterator[Line]:
        if origins.find(CHANNEL, self.move.key(old.key)):
            yield Line(ImportResult.THERE, "channel", old.name, "It was imported before.")
            return
        try:
            with transaction.atomic():
                channel = take_channel(
                    reader=self.move.reader,
                    uid=old.uid,
                    name=old.name,
                    kinds=old.kinds,
                    hide=[old.term] if old.term else [],
                )
                origins.note(CHANNEL, self.move.key(old.key), channel.pk, now=now, finished=True)
        except TakenMeanwhile:
            yield Line(ImportResult.THERE, "channel", old.name, "Another run has just imported it.")
            return
        except Refused as error:
            yield Line(ImportResult.REFUSED, "channel", old.name, str(error))
            return
        yield Line(ImportResult.TAKEN, "channel", old.name, f"It is your channel “{channel}”.")
        if channel.uid != old.uid:
            words = f"Its uid was “{old.uid}”, and is “{channel.uid}” now. Apps that name it must ask again."
            yield Line(ImportResult.CHANGED, "channel", old.name, words)
        yield from _about_settings(old)

    def _arrange(self, origins: Origins, now: datetime) -> Iterator[Line]:
        """Order channels and set the columns of the deck, once."""
        taken = {old.key: self.move.channel(origins, old.key) for old in self.channels}
        ordered = [channel for channel in taken.values() if channel is not None]
        columns = [
            (rows.number_of(column, "order"), rows.text_of(column, "channelId"))
            for document in self.move.export.small.get("deck_config", ())
            if rows.is_owned(document, self.move.owners)
            for column in rows.columns_of(document)
        ]
        shown = [key for _, key in sorted(columns) if taken.get(key)]
        with transaction.atomic():
            order_channels(reader=self.move.reader, uids=[channel.uid for channel in ordered])
            if shown:
                take_deck(channels=ordered, shown={one.pk for key in shown if (one := taken[key])})
            try:
                origins.note(ORDER, self.move.key(ORDER), self.move.reader.pk, now=now, finished=True)
            except TakenMeanwhile:
                return
        if not shown:
            return
        yield Line(ImportResult.TAKEN, "deck", "deck", f"It shows {pluralize(len(shown), 'channel')}.")
        if shown != [key for key in taken if key in shown]:
            words = "Its columns are in the order of the channels now."
            yield Line(ImportResult.CHANGED, "deck", "deck", words)


def _about_settings(old: OldChannel) -> Iterator[Line]:
    if old.kinds or old.term:
        hidden = ", ".join([*old.kinds, *([old.term] if old.term else [])])
        yield Line(ImportResult.TAKEN, "filter", old.name, f"Hidden: {hidden}")
    if old.trouble:
        yield Line(ImportResult.REFUSED, "filter", old.name, f"excludeRegex: {old.trouble} Write it anew.")
    if old.lost:
        words = f"These settings have no equivalent here: {'; '.join(old.lost)}."
        yield Line(ImportResult.CHANGED, "settings", old.name, words)


@dataclass(slots=True)
class NotificationsPart(MicrosubPart):
    name: str = NOTIFICATIONS

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        there = known_pairs(self.move.reader)
        pairs = {pair_of(*pair) for pair in map(_pair, self._documents()) if all(map(comparable, pair))}
        pairs -= there
        return [self._taken(len(pairs))] if pairs else []

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Known pairs of source and target are left out."""
        counts, lines = Counter[bool](), []
        for document in self._documents():
            source, target = _pair(document)
            kind = one_line(rows.text_of(document, "type"))
            try:
                is_new = take_mention(
                    reader=self.move.reader,
                    source=source,
                    target=target,
                    post=self._post(document, source),
                    kind=kind if kind in KINDS else MENTION,
                    came_at=rows.came_at(document, now),
                    is_read=rows.is_read(document, self.move.owners),
                    now=now,
                )
            except Refused as error:
                lines.append(Line(ImportResult.REFUSED, "notification", one_line(source)[:200], str(error)))
            else:
                counts[is_new] += 1
        if counts[True]:
            lines.append(self._taken(counts[True]))
        if counts[False]:
            name = pluralize(counts[False], "notification")
            words = "There already, or their authors are blocked."
            lines.append(Line(ImportResult.THERE, "notifications", name, words, count=counts[False]))
        return lines

    def _documents(self) -> list[Document]:
        documents = self.move.export.small.get(NOTIFICATIONS, ())
        return [one for one in documents if rows.is_owned(one, self.move.owners)]

    def _post(self, document: Document, source: str) -> Post:
        return rows.post_of({**document, "url": document.get("url") or source}, "")

    def _taken(self, count: int) -> Line:
        name = pluralize(count, "notification")
        return Line(ImportResult.TAKEN, "notifications", name, "In Notifications.", count=count)


def _pair(document: Document) -> tuple[str, str]:
    source, target = (rows.text_of(document, name).strip() for name in ("source", "target"))
    return source, target


@dataclass(slots=True)
class MutesPart(MicrosubPart):
    name: str = "muted and blocked authors"

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        wanted = list(self._wanted())
        hidden = self._counts() if wanted else Counter[tuple[str, str]]()
        lines = []
        for is_block, old, url in wanted:
            if origins.find(MUTE, self._old_key(is_block, old, url)):
                lines.append(self._there(is_block, url))
                continue
            keys = [old] if old else list(self.move.channels)
            try:
                author = checked_key(url)
            except Refused as error:
                name = one_line(url)[:200]
                lines.append(Line(ImportResult.REFUSED, self._kind(is_block), name, str(error)))
            else:
                lines.append(self._line(is_block, url, sum(hidden[key, author] for key in keys)))
        return lines

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        return [self._take(*one, origins, now) for one in self._wanted()]

    def _take(self, is_block: bool, old: str, url: str, origins: Origins, now: datetime) -> Line:
        kind, key = self._kind(is_block), self._old_key(is_block, old, url)
        if origins.find(MUTE, key):
            return self._there(is_block, url)
        channel = self.move.channel(origins, old) if old else None
        if old and channel is None:
            why = "Its channel wasn’t imported, or was deleted here."
            return Line(ImportResult.REFUSED, kind, url, why)
        places = TimelineEntry.objects.seen().filter(
            reader=self.move.reader, entry__author_key=author_key(url)
        )
        count = (places.filter(channel=channel) if channel else places).count()
        try:
            with transaction.atomic():
                mute(reader=self.move.reader, channel=channel, url=url, now=now, is_block=is_block)
                origins.note(MUTE, key, self.move.reader.pk, now=now, finished=True)
        except TakenMeanwhile:
            return self._there(is_block, url)
        except Refused as error:
            return Line(ImportResult.REFUSED, kind, one_line(url)[:200], str(error))
        return self._line(is_block, url, count)

    def _wanted(self) -> Iterator[tuple[bool, str, str]]:
        """Yield whether it is a block, the channel's key (or "") and the author's address."""
        for name, is_block in (("muted", False), ("blocked", True)):
            for document in self.move.export.small.get(name, ()):
                channel = rows.text_of(document, "channelId")
                url = rows.text_of(document, "url") or rows.text_of(document, "authorUrl")
                is_ours = not channel or channel in self.move.channels
                if is_ours and rows.is_owned(document, self.move.owners):
                    yield is_block, channel, url.strip()

    def _counts(self) -> Counter[tuple[str, str]]:
        """Count posts by channel and author."""
        counts = Counter[tuple[str, str]]()
        for channel, feed in self.move.export.items:
            if channel in self.move.channels:
                for document in self.move.export.items.read((channel, feed)):
                    if not rows.is_stripped(document):
                        counts[channel, author_key(rows.author_url(document))] += 1
        return counts

    def _old_key(self, is_block: bool, channel: str, url: str) -> str:
        return self.move.key(f"{int(is_block)}/{channel}/{author_key(url)}")

    def _kind(self, is_block: bool) -> str:
        return "blocked author" if is_block else "muted author"

    def _there(self, is_block: bool, url: str) -> Line:
        return Line(ImportResult.THERE, self._kind(is_block), url, "It was imported before.")

    def _line(self, is_block: bool, url: str, count: int) -> Line:
        posts = pluralize(count, "post")
        words = f"Removes {posts}." if is_block else f"Hides {posts}."
        return Line(ImportResult.TAKEN, self._kind(is_block), one_line(url)[:200], words)
