"""CordFeeder, a Discord bot for feeds: its database."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common.db.foreign_sqlite import ForeignTable, UnreadableDatabase, read_tables
from common.refused import Refused
from common.text import without_controls
from migrate_from.records import Fate, ImportResult, Line, OldPost, OldServerFeed

NEEDED: Mapping[str, tuple[str, ...]] = {
    "feeds": ("id", "url", "name", "channel_id", "guild_id", "added_by", "created_at"),
    "posted_items": ("feed_id", "item_guid", "posted_at", "message_id"),
}
WANTED = {**NEEDED, "feeds": (*NEEDED["feeds"], "last_poll_at"), "feed_state": ("feed_id", "last_poll_at")}
LARGEST_ID = 2**63 - 1
LONGEST_GUID = 100_000


def read(place: Path, *, now: datetime) -> tuple[list[OldServerFeed], list[Line]]:
    """Return the feeds, the oldest first, and what is refused. Raises Refused."""
    tables = _tables(place)
    for name, needed in NEEDED.items():
        columns = tables[name].columns if name in tables else ()
        if missing := sorted(set(needed) - set(columns)):
            raise Refused(
                f"{place} isn’t CordFeeder’s database. Its table {name} has no {', '.join(missing)}."
            )
    table, state = tables["feeds"], tables.get("feed_state")
    polls: dict[Any, Any] = {}
    if "last_poll_at" not in table.columns and state and len(state.columns) == 2:
        for feed, at in state.rows:
            polls[feed] = max(filter(None, (polls.get(feed), at)), key=_sort_key, default=None)
    posted = defaultdict(list)
    for feed, *rest in sorted(tables["posted_items"].rows, key=lambda row: _sort_key(row[2])):
        posted[feed].append(rest)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    feeds, refused = [], []
    for row in sorted(rows, key=lambda row: _sort_key(row["id"])):
        own = posted[row["id"]]
        read = _server_feed({"last_poll_at": polls.get(row["id"]), **row}, own, now)
        if isinstance(read, Line):
            refused.append(read)
            continue
        feeds.append(read)
        if nameless := sum(not _guid(guid) for guid, _at, _message in own):
            words = f"Posts without a usable id: {nameless}. They can’t be recognized."
            refused.append(Line(ImportResult.REFUSED, "posts", read.label, words))
    return feeds, refused


def _tables(place: Path) -> dict[str, ForeignTable]:
    try:
        return read_tables(place, WANTED)
    except OSError as error:
        raise Refused(f"{place} cannot be read: {error.strerror}. Give its DATABASE_PATH.") from error
    except UnreadableDatabase as error:
        raise Refused(
            f"{place} can’t be read as CordFeeder’s database ({error}). Give the file in its DATABASE_PATH."
            " Stop CordFeeder, then copy the file, and the files next to it that end in -wal and -shm, to a"
            " folder that you can write to."
        ) from error


def _sort_key(value: Any) -> tuple[int, Any]:
    """Order as SQLite: NULL, numbers, texts."""
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def _server_feed(
    values: Mapping[str, Any], posted: Iterable[list[Any]], now: datetime
) -> OldServerFeed | Line:
    ids = {name: _id(values[name]) for name in ("id", "guild_id", "channel_id", "added_by")}
    title = _line(values["name"])
    shown = f"server {values['guild_id']}, feed {values['id']}: {title}"[:300]
    if not ids["id"] or not ids["guild_id"] or not ids["channel_id"]:
        why = "Its server, channel or number isn’t a valid id. Add it again with /feed add."
        return Line(ImportResult.REFUSED, "server's feed", shown, why)
    polled_at = _moment(values["last_poll_at"], now)
    posts = tuple(
        OldPost(guid, _moment(at, now) or polled_at or now, Fate.SENT if message else Fate.KNOWN)
        for given, at, message in posted
        if (guid := _guid(given))
    )
    first = min((post.at for post in posts), default=polled_at)
    created_at = _moment(values["created_at"], now) or first
    if created_at is None:
        why = "The time when it was added can’t be read, so its sent posts are unknown. Add it again."
        return Line(ImportResult.REFUSED, "server's feed", shown, why)
    if polled_at is None and posts:
        polled_at = max(post.at for post in posts)
    return OldServerFeed(
        number=ids["id"],
        url=_line(values["url"]).strip(),
        title=title[:200],
        guild_id=ids["guild_id"],
        channel_id=ids["channel_id"],
        added_by=ids["added_by"],
        created_at=created_at,
        polled_at=polled_at,
        posts=posts,
    )


def _id(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value <= LARGEST_ID else 0


def _line(value: Any) -> str:
    return " ".join(without_controls(value).split()) if isinstance(value, str) else ""


def _guid(value: Any) -> str:
    if isinstance(value, int):
        value = str(value)
    text = without_controls(value).strip() if isinstance(value, str) else ""
    return text if len(text) <= LONGEST_GUID else ""


def _moment(value: Any, now: datetime) -> datetime | None:
    """Parse ISO 8601, by default in UTC, at most now; None if it is invalid."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return min(moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC), now) if moment else None
    except (ValueError, OverflowError):
        return None
