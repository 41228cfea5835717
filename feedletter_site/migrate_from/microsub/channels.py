from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from common.refused import Refused
from common.text import pluralize
from feedletter_site.migrate_from.microsub import rows
from feedletter_site.migrate_from.microsub.move import CHANNEL, ORDER, MicrosubPart
from feedletter_site.migrate_from.microsub.rows import OldChannel
from feedletter_site.migrate_from.report import ImportResult, Line, Origins, TakenMeanwhile
from reader.channels.channels import order_channels
from reader.channels.taken_over import take_channel, take_deck


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
