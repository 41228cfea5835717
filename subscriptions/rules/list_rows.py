"""A line of a subscriber list: what it says, and what it may change."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")
COLUMNS = ("email", "name", "status", "added")
UNREADABLE = "\ufffd"
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)


class RefusedLine(ValueError):
    """A line that is not taken. The message says why, for the person whose list it is."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """One line. `added` is aware, None when the line does not say."""

    email: str
    name: str = ""
    status: str = "unconfirmed"
    added: datetime | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an address already; `status` is empty for one that never subscribed here."""

    status: str = ""
    name: str = ""
    suppressed: bool = False


class Change(Enum):
    ADD = "add"
    UPDATE = "update"
    NOTHING = "nothing"


def read_row(values: Mapping[str, str], *, now: datetime) -> ListRow:
    """The row of a line's columns. Raises RefusedLine."""
    texts = {column: values.get(column, "").strip() for column in COLUMNS}
    if any(UNREADABLE in text for text in texts.values()):
        raise RefusedLine("it is not UTF-8 text; save the file as UTF-8.")
    if any("\n" in text or "\r" in text for text in texts.values()):
        raise RefusedLine("a quotation mark is not closed.")
    if not texts["email"]:
        raise RefusedLine("it has no email.")
    status = texts["status"].lower() or "unconfirmed"
    if status not in STATUSES:
        raise RefusedLine(f"“{status[:40]}” is not a status; use {', '.join(STATUSES)} or nothing.")
    return ListRow(texts["email"], texts["name"], status, _moment(texts["added"], now))


def _moment(text: str, now: datetime) -> datetime | None:
    if not text:
        return None
    try:
        read = datetime.fromisoformat(text)
        moment = (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise RefusedLine(f"“{text[:40]}” is not a time; write 2026-03-02 or 2026-03-02T12:00:00Z.") from None
    if not EARLIEST <= moment <= now:
        raise RefusedLine(f"the time “{text[:40]}” is in the future or before 1971.")
    return moment


def change(row: ListRow, known: Known) -> Change:
    """What a line does to what is known. Raises RefusedLine where a person's own word stands against it.

    A list never takes back a confirmation, never brings back who left, and never lifts a suppression.
    """
    wants_mail = row.status in ("confirmed", "unconfirmed")
    if known.suppressed and wants_mail:
        raise RefusedLine("the address is suppressed; remove its suppression first.")
    if known.status == "unsubscribed" and wants_mail:
        raise RefusedLine("this subscriber left; only they can come back.")
    if not known.status:
        return Change.ADD
    renamed = bool(row.name) and row.name != known.name
    return Change.UPDATE if renamed or _moves(row.status, known) else Change.NOTHING


def _moves(status: str, known: Known) -> bool:
    if status == "suppressed":
        return not known.suppressed
    if status == "unsubscribed":
        return known.status != "unsubscribed"
    return status == "confirmed" and known.status == "unconfirmed"
