"""Interpretation of CordFeeder's rows. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from common.db.foreign_sqlite import Table, UnreadableDatabase, read_tables
from common.refused import Refused
from common.text import without_controls
from feeds.addresses import is_address, same_address
from feeds.credentials import split_address, without_secrets
from migrate_from.records import Fate, ImportResult, Line, OldPost

NEEDED: Mapping[str, tuple[str, ...]] = {
    "feeds": ("id", "url", "name", "channel_id", "guild_id", "added_by", "created_at"),
    "posted_items": ("feed_id", "item_guid", "posted_at", "message_id"),
}


WANTED = {**NEEDED, "feeds": (*NEEDED["feeds"], "last_poll_at"), "feed_state": ("feed_id", "last_poll_at")}
# CordFeeder forgets posts after 90 days.
REMEMBERS = timedelta(days=89)
LARGEST_ID = 2**63 - 1
LONGEST_GUID = 100_000
NAMED = 3


@dataclass(frozen=True, slots=True)
class OldRow:
    values: Mapping[str, Any]
    posted: tuple[tuple[Any, Any, Any], ...]


def read_rows(place: Path) -> list[OldRow]:
    """Raises Refused."""
    tables = _tables(place)
    for name, needed in NEEDED.items():
        columns = tables[name].columns if name in tables else ()
        if missing := sorted(set(needed) - set(columns)):
            raise Refused(
                f"{place} isn’t CordFeeder’s database. Its table {name} has no {', '.join(missing)}."
            )
    feeds, state = tables["feeds"], tables.get("feed_state")
    polls: dict[Any, Any] = {}
    if "last_poll_at" not in feeds.columns and state and len(state.columns) == 2:
        for feed, at in state.rows:
            polls[feed] = max(filter(None, (polls.get(feed), at)), key=_sort_key, default=None)
    posted = defaultdict(list)
    for feed, *rest in sorted(tables["posted_items"].rows, key=lambda row: _sort_key(row[2])):
        posted[feed].append(tuple(rest))
    rows = [dict(zip(feeds.columns, row, strict=True)) for row in feeds.rows]
    return [
        OldRow({"last_poll_at": polls.get(row["id"]), **row}, tuple(posted[row["id"]]))
        for row in sorted(rows, key=lambda row: _sort_key(row["id"]))
    ]


def _tables(place: Path) -> dict[str, Table]:
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


@dataclass(frozen=True, slots=True)
class ServerFeed:
    """`polled_at` is None if it was never read."""

    number: int
    url: str
    title: str
    guild_id: int
    channel_id: int
    added_by: int
    created_at: datetime
    polled_at: datetime | None
    posts: tuple[OldPost, ...] = ()

    @property
    def old_key(self) -> str:
        """Addresses are unique within a server."""
        return f"{self.guild_id}/{sha256(self.url.encode()).hexdigest()[:32]}"

    @property
    def name(self) -> str:
        return f"server {self.guild_id}, feed {self.number}: {self.title or without_secrets(self.url)}"

    @property
    def read_from(self) -> datetime:
        """From then on all posts are known."""
        return max(self.created_at, self.polled_at - REMEMBERS) if self.polled_at else self.created_at


@dataclass(frozen=True, slots=True)
class Address:
    feeds: tuple[ServerFeed, ...]

    @property
    def url(self) -> str:
        """Of the feed that was read last."""
        return max(self.feeds, key=lambda one: (one.polled_at or one.created_at, one.number)).url

    @property
    def title(self) -> str:
        return next((one.title for one in self.feeds if one.title), "")

    @property
    def old_key(self) -> str:
        return sha256(same_address(self.url).encode()).hexdigest()[:32]

    @property
    def read_from(self) -> datetime:
        return min(one.read_from for one in self.feeds)

    @property
    def read_until(self) -> datetime | None:
        return max((one.polled_at for one in self.feeds if one.polled_at), default=None)

    @property
    def posts(self) -> list[OldPost]:
        """Sent to one server counts as sent."""
        by_guid: dict[str, OldPost] = {}
        for post in (post for one in self.feeds for post in one.posts):
            there = by_guid.get(post.guid)
            if there is None or (post.was_sent and not there.was_sent):
                by_guid[post.guid] = post
        return list(by_guid.values())

    def differences(self) -> Iterable[tuple[ServerFeed, list[str]]]:
        sent = {post.guid: post.at for one in self.feeds for post in one.posts if post.was_sent}
        for one in self.feeds:
            here = {post.guid for post in one.posts}
            lacking = [guid for guid, at in sent.items() if guid not in here and at > one.read_from]
            if lacking:
                yield one, lacking


def understood(rows: Sequence[OldRow], *, now: datetime) -> tuple[list[Address], list[Line]]:
    """Return the addresses by their oldest feed, and what is refused."""
    by_address: dict[str, list[ServerFeed]] = defaultdict(list)
    refused = []
    for row in rows:
        feed = _server_feed(row, now)
        if isinstance(feed, Line):
            refused.append(feed)
            continue
        by_address[same_address(feed.url)].append(feed)
        if nameless := sum(not _guid(guid) for guid, _at, _message in row.posted):
            words = f"Posts without a usable id: {nameless}. They can’t be recognized."
            refused.append(Line(ImportResult.REFUSED, "posts", feed.name, words))
    return [Address(tuple(feeds)) for feeds in by_address.values()], refused


def _server_feed(row: OldRow, now: datetime) -> ServerFeed | Line:
    values = row.values
    ids = {name: _id(values[name]) for name in ("id", "guild_id", "channel_id", "added_by")}
    url, title = _line(values["url"]).strip(), _line(values["name"])
    shown = f"server {values['guild_id']}, feed {values['id']}: {title or without_secrets(url)}"[:300]

    def refused(why: str) -> Line:
        return Line(ImportResult.REFUSED, "server's feed", shown, why)

    if not ids["id"] or not ids["guild_id"] or not ids["channel_id"]:
        return refused("Its server, channel or number isn’t a valid id. Add it again with /feed add.")
    bare, secrets = split_address(url)
    if secrets:
        return refused(
            "Its URL contains a user name and a password, which others would see. Add the feed in the admin,"
            " and create a bridge for it."
        )
    if not is_address(bare):
        return refused("Its URL can’t be read. Add the right one with /feed add.")
    polled_at = _moment(values["last_poll_at"], now)
    posts = tuple(
        OldPost(guid, _moment(at, now) or polled_at or now, Fate.SENT if message else Fate.KNOWN)
        for given, at, message in row.posted
        if (guid := _guid(given))
    )
    first = min((post.at for post in posts), default=polled_at)
    created_at = _moment(values["created_at"], now) or first
    if created_at is None:
        return refused(
            "The time when it was added can’t be read, so its sent posts are unknown. Add it again."
        )
    if polled_at is None and posts:
        polled_at = max(post.at for post in posts)
    return ServerFeed(
        number=ids["id"],
        url=bare,
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
