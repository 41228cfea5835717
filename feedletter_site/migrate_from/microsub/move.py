"""Shared by all parts of an import."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from common.refused import Refused
from common.text import without_controls
from feedletter_site.migrate_from.microsub.files import Export
from feedletter_site.migrate_from.microsub.rows import OldChannel
from feedletter_site.migrate_from.report import Origins
from feeds.models import Feed
from feeds.polling.read import FetchResult
from reader.models import Channel, Reader

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
