import io
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.fields.json import KeyTextTransform

from common.ports.personal_data import HeldRows, rows_as_json
from reader.channels.opml import export_follows
from reader.models import Follow, Reader, Star, TimelineEntry

Query = Any
PIECE = 64 * 1024


def account_rows(reader: Reader) -> Query:
    rows = Reader.objects.filter(pk=reader.pk)
    user = {name: F(f"user__{name}") for name in ("username", "email", "date_joined", "last_login")}
    own = ("slug", "me", "verified_at", "made_at", "last_seen_at", "max_feeds")
    choices = ("unread_only", "oldest_first", "save_name", "save_template")
    return rows.values(*own, *choices, **user)


def channel_rows(reader: Reader) -> Query:
    settings = ("unread_mode", "keep_days", "layout", "in_deck", "filters")
    own = ("uid", "name", "position", "is_notifications", *settings, "made_at")
    return reader.channels.order_by("-is_notifications", "position", "pk").values(*own)


def follow_rows(reader: Reader) -> Query:
    rows = Follow.objects.filter(channel__reader=reader).order_by("-pk")
    return rows.values(
        "added_at", "name", url=F("feed__url"), title=F("feed__title"), channel_uid=F("channel__uid")
    )


def mute_rows(reader: Reader) -> Query:
    return reader.mutes.order_by("-pk").values("url", "is_block", "added_at", channel_uid=F("channel__uid"))


def star_rows(reader: Reader) -> Query:
    return Star.objects.filter(reader=reader).order_by("-at", "-pk").values("at", **_post())


def post_rows(reader: Reader) -> Query:
    rows = TimelineEntry.objects.seen().filter(reader=reader).order_by("-at", "-pk")
    return rows.values("at", channel_uid=F("channel__uid"), unread_since=F("unread__at"), **_post())


def client_rows(reader: Reader) -> Query:
    own = ("client", "client_id", "scopes", "made_at", "last_used_at", "revoked_at")
    return reader.tokens.order_by("-pk").values(*own)


def app_password_rows(reader: Reader) -> Query:
    return reader.app_passwords.order_by("-pk").values("app", "made_at", "last_used_at", "revoked_at")


def written_rows(reader: Reader) -> Query:
    return reader.compositions.order_by("-pk").values("said", "state", "made_at", "location", "problem")


def mention_rows(reader: Reader) -> Query:
    return reader.mentions.order_by("-pk").values("source", "target", "received_at", "checked_at", "problem")


def _post() -> dict[str, Any]:
    return {
        "link": KeyTextTransform("url", "entry__jf2"),
        "title": KeyTextTransform("name", "entry__jf2"),
    }


# Erasing readers deletes all of this.
SOURCES = (
    HeldRows("account", account_rows),
    HeldRows("channels", channel_rows),
    HeldRows("follows", follow_rows),
    HeldRows("muted", mute_rows),
    HeldRows("starred", star_rows),
    HeldRows("posts", post_rows),
    HeldRows("clients", client_rows),
    HeldRows("app_passwords", app_password_rows),
    HeldRows("written", written_rows),
    HeldRows("mentions", mention_rows),
)


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
                        yield out.taken()
    yield out.taken()


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

    def taken(self) -> bytes:
        piece = b"".join(self._written)
        self._written, self.size = [], 0
        return piece
