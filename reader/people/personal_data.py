import io
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.fields.json import KeyTextTransform

from common.ports.personal_data import HeldRows, by, rows_as_json
from reader.channels.opml import export_follows
from reader.models import (
    AppPassword,
    Channel,
    Composition,
    Follow,
    Letters,
    MailAddress,
    MailMessage,
    MailSource,
    Mention,
    Mute,
    Reader,
    Star,
    TimelineEntry,
    Token,
)

PIECE = 64 * 1024
POST_FIELDS = {"link": KeyTextTransform("url", "entry__jf2"), "title": KeyTextTransform("name", "entry__jf2")}
# Erasing readers deletes all of this.
ROWS: Mapping[str, "QuerySet[Any, Any]"] = {
    "account": Reader.objects.values(
        *("slug", "me", "verified_at", "made_at", "last_seen_at", "max_feeds"),
        *("unread_only", "oldest_first", "corrected_unread", "save_name", "save_template"),
        *("picks", "picks_title", "picks_since"),
        **{name: F(f"user__{name}") for name in ("username", "email", "date_joined", "last_login")},
    ),
    "channels": Channel.objects.order_by("-is_notifications", "position", "pk").values(
        *("uid", "name", "position", "is_notifications", "unread_mode", "keep_days", "layout"),
        *("in_deck", "filters", "made_at"),
    ),
    "channels_by_email": Letters.objects.values(
        *("arrangement", "weekday", "at", "time_zone", "content", "max_posts", "unread_only", "mark_read"),
        "since",
        channel_uid=F("channel__uid"),
    ),
    "follows": Follow.objects.order_by("-pk").values(
        "added_at", "name", url=F("feed__url"), title=F("feed__title"), channel_uid=F("channel__uid")
    ),
    "muted": Mute.objects.order_by("-pk").values(
        "url", "is_block", "added_at", channel_uid=F("channel__uid")
    ),
    "starred": Star.objects.order_by("-at", "-pk").values("at", "note", "tags", **POST_FIELDS),
    "posts": TimelineEntry.objects.seen()
    .order_by("-at", "-pk")
    .values("at", channel_uid=F("channel__uid"), unread_since=F("unread__at"), **POST_FIELDS),
    "clients": Token.objects.order_by("-pk").values(
        "client", "client_id", "scopes", "made_at", "last_used_at", "revoked_at"
    ),
    "app_passwords": AppPassword.objects.order_by("-pk").values(
        "app", "made_at", "last_used_at", "revoked_at"
    ),
    "written": Composition.objects.order_by("-pk").values("said", "state", "made_at", "location", "problem"),
    "mail_addresses": MailAddress.objects.values(
        "key", "asks_first", "made_at", channel_uid=F("channel__uid")
    ),
    "mail_senders": MailSource.objects.order_by("-pk").values(
        "key", "title", "sender", "sent_to", "state", "made_at", "newest_at", "left_at", "left"
    ),
    "held_mail": MailMessage.objects.filter(held__isnull=False).order_by("-pk").values("at", "held"),
    "mentions": Mention.objects.order_by("-pk").values(
        "source", "target", "received_at", "checked_at", "problem"
    ),
}
# To the reader, where it isn't `reader`.
PATHS = {
    "account": "pk",
    "follows": "channel__reader",
    "channels_by_email": "channel__reader",
    "held_mail": "source__reader",
}
SOURCES = [HeldRows(name, rows, by(PATHS.get(name, "reader"))) for name, rows in ROWS.items()]


def data_file(reader: Reader, *, now: datetime) -> Iterator[bytes]:
    """Yield a zip of my-data.json and feeds.opml, never whole in memory."""
    out = _Pieces()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = {
            "my-data.json": rows_as_json({"reader": reader.slug, "as_of": now}, SOURCES, reader),
            "feeds.opml": export_follows(reader, now=now),
        }
        for name, lines in parts.items():
            with archive.open(name, "w") as file:
                for line in lines:
                    file.write(line.encode())
                    if out.size >= PIECE:
                        yield out.pop()
    yield out.pop()


class _Pieces(io.RawIOBase):
    """ZipFile's output, read while it grows."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, octets: Any) -> int:
        self._written.append(bytes(octets))
        self.size += len(self._written[-1])
        return len(self._written[-1])

    def pop(self) -> bytes:
        piece = b"".join(self._written)
        self._written, self.size = [], 0
        return piece
