import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from functools import lru_cache
from ipaddress import ip_address

from dateutil.parser import parse

from common.refused import Refused
from common.text import one_line
from subscriptions.rules.lists.formulas import from_text
from subscriptions.rules.lists.statuses import LIST_STATUSES
from subscriptions.rules.sign_up import LARGEST_ID
from subscriptions.rules.tags import MOST_TAGS_OF_ONE, BadTag, tag_key, tags_of_cell

ORDERS = ("dmy", "mdy")
# Go's time.String(), from listmonk: 2026-03-02 12:00:00.1 +0200 CEST
_GO = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,9})? ([+-])(\d\d)(\d\d)(?: [A-Z+-]\S{0,9})?", re.ASCII
)
_EPOCH = re.compile(r"\d{10}(\d{3})?", re.ASCII)
_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?:[ T,]+(\S.*))?", re.ASCII)
# With a month's name: “January 2, 2023”, “2 Jan 2023 3:04 PM”.
_WRITTEN = re.compile(
    r"(?:\w{3,9},? )?(?:[a-z]{3,9}\.? \d{1,2}|\d{1,2} [a-z]{3,9}\.?),? \d{4}\b.*", re.I | re.ASCII
)
_MIDNIGHT = datetime(2000, 1, 1)  # noqa: DTZ001 - the text may name a zone
UNREADABLE = "unreadable"
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
LONGEST_CELL = 2000
MOMENT_COLUMNS = ("added", "confirmed", "left", "consent_at")
MOST_LINES_OF_CELL = 6
FEW_ROWS = 5
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}")
# In a dry run, and in the import if different.
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "gets": ("will get the newsletter", "get the newsletter"),
    "unconfirmed": ("not confirmed", ""),
    "unsubscribed": ("unsubscribed", ""),
    "suppressed": ("must not be emailed", ""),
    "left": ("unsubscribed here before", ""),
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
    """The message is for the list's owner; `kind` is one of OUTCOMES."""

    def __init__(self, message: str, kind: str = UNREADABLE) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Proof:
    at: datetime | None = None
    how: str = ""
    words: str = ""
    ip: str | None = None

    def __bool__(self) -> bool:
        return bool(self.at or self.how or self.words or self.ip)


NO_PROOF = Proof()


@dataclass(frozen=True, slots=True)
class ListRow:
    """Times are aware."""

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
    # The person is imported without it.
    has_lost_a_date: bool = False


@dataclass(frozen=True, slots=True)
class KnownSubscriber:
    """`status` is empty if it never subscribed here. `tags` (`tag_key`s) belong to the address.

    `is_erased`: the person has not come back.
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
        if self.suppressed:
            return "suppressed"
        return "gets" if self.status == "confirmed" else self.status


class RowChange(Enum):
    ADD = "add"
    UPDATE = "update"
    NOTHING = "nothing"


def read_row(values: Mapping[str, str], *, now: datetime, dates: str = "") -> ListRow:
    """Raises UnusableLine. `dates`: order of 3/4/2026, “dmy”, “mdy” or ""."""
    texts = {column: from_text(text.strip()) for column, text in values.items() if text}
    _refuse_unreadable(texts)
    if not texts.get("email"):
        raise UnusableLine("it has no email address.")
    status = texts.get("status", "").lower() or "unconfirmed"
    if status not in LIST_STATUSES:
        raise UnusableLine(f"“{status[:40]}” isn’t a status. Use {', '.join(LIST_STATUSES)}.")
    tag = texts.get("language", "")
    language = tag.lower().replace("_", "-")
    if language and not _LANGUAGE.fullmatch(language):
        raise UnusableLine(f"“{tag[:40]}” isn’t a language. Use a code such as en or pt-br.")
    moments = {name: _moment(texts[name], now, dates) for name in MOMENT_COLUMNS if texts.get(name)}
    words, how, ip = (texts.get(f"consent_{name}", "") for name in ("words", "how", "ip"))
    try:
        proof = Proof(moments.get("consent_at"), how, words, str(ip_address(ip)) if ip else None)
    except ValueError:
        raise UnusableLine(f"“{ip[:40]}” isn’t an IP address.") from None
    # One subscription may have several numbers.
    numbers = texts.get("upstream_id", "").split()
    for number in numbers:
        if not (
            number.isascii() and number.isdigit() and len(number) <= 19 and 0 < int(number) <= LARGEST_ID
        ):
            raise UnusableLine(f"“{number[:40]}” isn’t a subscription number of the old Feedletter.")
    try:
        tags = tags_of_cell(texts["tags"]) if texts.get("tags") else ()
    except BadTag as error:
        raise UnusableLine(str(error)) from None
    return ListRow(
        texts["email"],
        one_line(texts.get("name", "")),
        status,
        language,
        moments.get("added"),
        moments.get("confirmed"),
        moments.get("left"),
        proof,
        tuple(dict.fromkeys(map(int, numbers))),
        tags,
        has_lost_a_date=None in moments.values(),
    )


def _refuse_unreadable(texts: Mapping[str, str]) -> None:
    everything = "".join(texts.values())
    # U+FFFD replaced octets that are not UTF-8.
    if "\ufffd" in everything:
        raise UnusableLine("it isn’t UTF-8. Save the file as UTF-8.")
    # Consent texts may have several lines.
    if ("\n" in everything or "\r" in everything) and any(
        _has_swallowed(text) for name, text in texts.items() if name != "consent_words"
    ):
        raise UnusableLine("a quotation mark isn’t closed.")
    if "\0" in everything:
        raise UnusableLine("it contains a NUL character.")
    if len(everything) > LONGEST_CELL and any(len(text) > LONGEST_CELL for text in texts.values()):
        raise UnusableLine(f"a cell is longer than {LONGEST_CELL:,} characters.")


def _has_swallowed(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) > MOST_LINES_OF_CELL or any("@" in line for line in lines[1:])


def _moment(text: str, now: datetime, dates: str) -> datetime | None:
    """Return None for a date that can't be read, is in the future, or is before 1971."""
    try:
        moment = read_moment(text, dates)
    except NoTime:
        return None
    return moment if EARLIEST <= moment <= now else None


def within_newsletter(row: ListRow) -> ListRow:
    """Leave out what would change the address for other newsletters."""
    return replace(row, status="unsubscribed" if row.status == "suppressed" else row.status, tags=())


def after(row: ListRow, known: KnownSubscriber) -> KnownSubscriber:
    """Return the state after the line. Raises UnusableLine.

    A list never revokes a confirmation, resubscribes anybody who left, or lifts a suppression.
    """
    wants_mail = row.status in ("confirmed", "unconfirmed")
    if known.suppressed and wants_mail:
        raise UnusableLine("the address is on the Do not email list. Take it off first.", "suppressed")
    if known.status == "unsubscribed" and wants_mail:
        raise UnusableLine("this person unsubscribed; only they can subscribe again.", "left")
    if known.is_erased and not known.status:
        raise UnusableLine("this person’s data was erased; only they can subscribe again.", "erased")
    suppresses = row.status == "suppressed"
    tags = known.tags | frozenset(map(tag_key, row.tags)) if row.tags else known.tags
    if len(tags) > MOST_TAGS_OF_ONE:
        raise UnusableLine(f"it would have more than {MOST_TAGS_OF_ONE} tags.")
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
        # Nobody is subscribed without a confirmation, once the suppression is lifted.
        status = "unsubscribed" if row.left else "confirmed" if row.confirmed else "unconfirmed"
    suppressed = known.suppressed or suppresses
    return KnownSubscriber(status, row.name, row.language, suppressed, row.upstream_ids, tags)


def summary(counts: Mapping[str, int], *, is_done: bool = False) -> str:
    parts = []
    for kind, (will, has) in OUTCOMES.items():
        if (count := counts.get(kind, 0)) or kind == "gets":
            words = (has if is_done and has else will) if count != 1 else _OF_ONE.get((kind, is_done), will)
            parts.append(f"{count:,} {words}")
    return " · ".join(parts)


def warning(outcomes: Mapping[str, int], *, status: str, ending: int, receiving: int) -> str:
    """Return a sentence if an import would refuse most of a list, or end most subscriptions; or "".

    `status`: the most that the admin lets anybody become. `ending`: how many of the `receiving` people would
    get no more emails.
    """
    people = sum(count for kind, count in outcomes.items() if kind != "repeated")
    refused = outcomes.get(UNREADABLE, 0)
    stopped = outcomes.get("unsubscribed", 0) + outcomes.get("suppressed", 0)
    if refused * 2 > people:
        return f"{refused:,} of {people:,} would be refused."
    if ending * 2 > receiving and ending > FEW_ROWS:
        return f"{ending:,} of the {receiving:,} people who get this newsletter would get no more emails."
    if status not in ("unsubscribed", "suppressed") and stopped * 2 > people and stopped > FEW_ROWS:
        return f"{stopped:,} of {people:,} would be unsubscribed or must not be emailed."
    return ""


def change(before: KnownSubscriber, then: KnownSubscriber) -> RowChange:
    if not before.status:
        return RowChange.ADD
    return RowChange.NOTHING if before == then else RowChange.UPDATE


class NoTime(Refused):
    """Invalid or ambiguous time. The message is a sentence."""


# The columns of a line often have the same time.
@lru_cache(maxsize=1000)
def read_moment(text: str, dates: str = "") -> datetime:
    """Return UTC, the default zone. Raises NoTime.

    `dates`: order of 3/4/2026, “dmy” or “mdy”. Without it, only unambiguous days are valid.
    """
    try:
        if match := _GO.fullmatch(text):
            offset = timedelta(hours=int(match[3]), minutes=int(match[4]))
            zone = timezone(offset if match[2] == "+" else -offset)
            read = datetime.fromisoformat(match[1]).replace(tzinfo=zone)
        elif match := _EPOCH.fullmatch(text):
            read = datetime.fromtimestamp(int(text[:10]), UTC)
        elif match := _DAY.fullmatch(text):
            first, second, order = int(match[1]), int(match[3]), dates
            # Dots are used only with the day first.
            if match[2] == "." or first == second or first > 12:
                order = "dmy"
            elif second > 12:
                order = "mdy"
            if not order:
                raise NoTime(f"“{text[:40]}” may be two days. Say whether the day or the month is first.")
            day, month = (first, second) if order == "dmy" else (second, first)
            year = match[4] if len(match[4]) == 4 else f"20{match[4]}"
            read = parse(f"{year}-{month:02}-{day:02} {match[5] or '00:00'}")
        elif _WRITTEN.fullmatch(text):
            read = parse(text, default=_MIDNIGHT)
        else:
            # As beehiiv writes: “2026-03-02 12:00:00 UTC”.
            read = datetime.fromisoformat(text.removesuffix(" UTC"))
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except NoTime:
        raise
    except (ValueError, OverflowError, TypeError):
        raise NoTime(f"“{text[:40]}” is not a time; write 2026-03-02 or 2026-03-02T12:00:00Z.") from None
