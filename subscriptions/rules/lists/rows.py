"""A line of a subscriber list: what it says, and what it may change."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from ipaddress import ip_address

from common.refused import Refused
from common.text import one_line
from subscriptions.rules.invitations import LARGEST_ID
from subscriptions.rules.lists.formulas import from_text
from subscriptions.rules.lists.programs import LIST_STATUSES
from subscriptions.rules.lists.times import NoTime, read_moment
from subscriptions.rules.tags import MOST_TAGS_OF_ONE, BadTag, tag_key, tags_of_cell

UNREADABLE = "unreadable"
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
LONGEST_CELL = 2000
MOST_LINES_OF_CELL = 6
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}")


# Results of lines: the words of a dry run, and those of the import where they differ.
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "gets": ("will get the newsletter", "get the newsletter"),
    "unconfirmed": ("not confirmed", ""),
    "unsubscribed": ("unsubscribed", ""),
    "suppressed": ("must not be emailed", ""),
    "left": ("left here before", ""),
    "erased": ("erased here", ""),
    "repeated": ("duplicates", ""),
    UNREADABLE: ("unreadable", ""),
}


_OF_ONE = {
    ("gets", True): "gets the newsletter",
    ("repeated", False): "duplicate",
    ("repeated", True): "duplicate",
}


class UnusableLine(Refused):
    """A line that is not taken. The message says why, for the person whose list it is.

    `kind` is one of OUTCOMES.
    """

    def __init__(self, message: str, kind: str = UNREADABLE) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Proof:
    """How somebody agreed, as far as the line tells."""

    at: datetime | None = None
    how: str = ""
    words: str = ""
    ip: str | None = None

    def __bool__(self) -> bool:
        return bool(self.at or self.how or self.words or self.ip)


NO_PROOF = Proof()


@dataclass(frozen=True, slots=True)
class ListRow:
    """One line. Times are aware, None when the line does not say."""

    email: str
    name: str = ""
    status: str = "unconfirmed"
    language: str = ""
    added: datetime | None = None
    confirmed: datetime | None = None
    left: datetime | None = None
    proof: Proof = NO_PROOF
    upstream_ids: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownSubscriber:
    """What is known of an address already; `status` is empty for one that never subscribed here.

    `tags` are keys (`tag_key`). They belong to the address, so that one without a subscription may have some.
    `is_erased`: the person's data was erased here, and they have not come back.
    """

    status: str = ""
    name: str = ""
    language: str = ""
    suppressed: bool = False
    upstream_ids: tuple[int, ...] = ()
    tags: frozenset[str] = frozenset()
    is_erased: bool = False

    @property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        if self.suppressed:
            return "suppressed"
        return "gets" if self.status == "confirmed" else self.status


class RowChange(Enum):
    ADD = "add"
    UPDATE = "update"
    NOTHING = "nothing"


def read_row(
    values: Mapping[str, str], *, now: datetime, status: str = "unconfirmed", dates: str = ""
) -> ListRow:
    """The row of a line's columns; `status` is for a line that says none. Raises RefusedLine.

    `dates` says how times such as 3/4/2026 are meant: “dmy”, “mdy”, or "" where nobody said.
    """
    texts = {column: from_text(text.strip()) for column, text in values.items() if text}
    _refuse_unreadable(texts)
    if not texts.get("email"):
        raise UnusableLine("it has no email.")
    said = texts.get("status", "").lower() or status
    if said not in LIST_STATUSES:
        raise UnusableLine(f"“{said[:40]}” is not a status; use {', '.join(LIST_STATUSES)} or nothing.")
    tag = texts.get("language", "")
    language = tag.lower().replace("_", "-")
    if language and not _LANGUAGE.fullmatch(language):
        raise UnusableLine(f"“{tag[:40]}” is not a language; write a code such as en or pt-br.")
    added = _moment(texts.get("added", ""), now, dates)
    confirmed = _moment(texts.get("confirmed", ""), now, dates)
    left = _moment(texts.get("left", ""), now, dates)
    words, how = texts.get("consent_words", ""), texts.get("consent_how", "")
    at, ip = texts.get("consent_at", ""), texts.get("consent_ip", "")
    proof = NO_PROOF
    if words or how or at or ip:
        agreed_at = _moment(at, now, dates)
        try:
            proof = Proof(agreed_at, how, words, str(ip_address(ip)) if ip else None)
        except ValueError:
            raise UnusableLine(f"“{ip[:40]}” is not an IP address.") from None
    # Several numbers of one subscription stand beside each other, with a space between.
    numbers = texts.get("upstream_id", "").split()
    for number in numbers:
        if not (
            number.isascii() and number.isdigit() and len(number) <= 19 and 0 < int(number) <= LARGEST_ID
        ):
            raise UnusableLine(f"“{number[:40]}” is not a subscription’s number in the old Feedletter.")
    upstream_ids = tuple(dict.fromkeys(map(int, numbers)))
    name = one_line(texts.get("name", ""))
    try:
        tags = tags_of_cell(texts["tags"]) if texts.get("tags") else ()
    except BadTag as error:
        raise UnusableLine(str(error)) from None
    return ListRow(texts["email"], name, said, language, added, confirmed, left, proof, upstream_ids, tags)


def _refuse_unreadable(texts: Mapping[str, str]) -> None:
    everything = "".join(texts.values())
    # U+FFFD stands where the file's octets were no UTF-8.
    if "\ufffd" in everything:
        raise UnusableLine("it is not UTF-8 text; save the file as UTF-8.")
    # The words that somebody agreed to may have several lines.
    if ("\n" in everything or "\r" in everything) and any(
        _has_swallowed(text) for name, text in texts.items() if name != "consent_words"
    ):
        raise UnusableLine("a quotation mark is not closed.")
    if "\0" in everything:
        raise UnusableLine("it contains a NUL character.")
    if len(everything) > LONGEST_CELL and any(len(text) > LONGEST_CELL for text in texts.values()):
        raise UnusableLine(f"a cell is longer than {LONGEST_CELL:,} characters.")


def _has_swallowed(text: str) -> bool:
    """Return whether a cell of several lines has swallowed other lines of the list."""
    lines = text.splitlines()
    return len(lines) > MOST_LINES_OF_CELL or any("@" in line for line in lines[1:])


def _moment(text: str, now: datetime, dates: str) -> datetime | None:
    if not text:
        return None
    try:
        read = read_moment(text, dates)
    except NoTime as error:
        raise UnusableLine(str(error)) from None
    if not EARLIEST <= read <= now:
        raise UnusableLine(f"the time “{text[:40]}” is in the future or before 1971.")
    return read


def after(row: ListRow, known: KnownSubscriber) -> KnownSubscriber:
    """What is known once the line is taken. Raises RefusedLine where a person's own word stands against it.

    A list never takes back a confirmation, never brings back whoever left, and never lifts a suppression.
    """
    wants_mail = row.status in ("confirmed", "unconfirmed")
    if known.suppressed and wants_mail:
        raise UnusableLine("the address is on the list “Do not write”; take it off first.", "suppressed")
    if known.status == "unsubscribed" and wants_mail:
        raise UnusableLine("this subscriber left; only they can come back.", "left")
    if known.is_erased and not known.status:
        raise UnusableLine("this person’s data was erased here; only they can come back.", "erased")
    suppresses = row.status == "suppressed"
    tags = known.tags | frozenset(map(tag_key, row.tags)) if row.tags else known.tags
    if len(tags) > MOST_TAGS_OF_ONE:
        raise UnusableLine(f"with these it would have more than {MOST_TAGS_OF_ONE} tags.")
    if known.status:
        moves = row.status == "unsubscribed" or (row.status == "confirmed" and known.status == "unconfirmed")
        return replace(
            known,
            status=row.status if moves else known.status,
            name=row.name or known.name,
            language=row.language or known.language,
            suppressed=known.suppressed or suppresses,
            upstream_ids=tuple(dict.fromkeys((*known.upstream_ids, *row.upstream_ids))),
            tags=tags,
        )
    status = row.status
    if suppresses:
        # The status that counts once the suppression is lifted: nobody subscribes who never confirmed.
        status = "unsubscribed" if row.left else "confirmed" if row.confirmed else "unconfirmed"
    suppressed = known.suppressed or suppresses
    return KnownSubscriber(status, row.name, row.language, suppressed, row.upstream_ids, tags)


def summary(counts: Mapping[str, int], *, is_done: bool = False) -> str:
    """Describe what becomes of the lines, without kinds of which there are none."""
    said = []
    for kind, (will, has) in OUTCOMES.items():
        if (count := counts.get(kind, 0)) or kind == "gets":
            words = (has if is_done and has else will) if count != 1 else _OF_ONE.get((kind, is_done), will)
            said.append(f"{count:,} {words}")
    return " · ".join(said)


def change(before: KnownSubscriber, then: KnownSubscriber) -> RowChange:
    """What taking a line did."""
    if not before.status:
        return RowChange.ADD
    return RowChange.NOTHING if before == then else RowChange.UPDATE
