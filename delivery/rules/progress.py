"""Letters that wait because a server refuses us."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from channels.rules.refusals import LARGE_DOMAINS, SHARE
from common.backoff import delay
from common.text import pluralize

FIRST_REST = timedelta(minutes=5)
LONGEST_REST = timedelta(hours=4)
# After a rest all is tried at once. Without a refusal for this long, the trouble is over.
WELL_AFTER = timedelta(hours=1)
# A domain that refused for so long needs a person: the letters are no news any more.
LONGEST_REFUSAL = timedelta(days=4)
ARRIVED = ("sent", "stored")
ON_THEIR_WAY = ("queued", "deferred", "sending")
ENDED = (*ARRIVED, "failed", "cancelled")
# Stored counts (common.ports.registries).
ISSUE_FIGURE = "issue page"
STATES = ("draft", "waiting", "sending", "sent", "paused", "cancelled", "imported")
Counts = Mapping[str, int]
MOST_BARS = 180
# Minutes per bar.
WIDTHS = (1, 2, 5, 10, 30, 60, 180, 360, 1440)


def total(counts: Counts) -> int:
    return sum(counts.values())


def arrived(counts: Counts) -> int:
    return sum(counts.get(state, 0) for state in ARRIVED)


def waiting(counts: Counts) -> int:
    """Held ones wait for a person, not for the engine."""
    return sum(counts.get(state, 0) for state in ON_THEIR_WAY)


def waiting_words(waiting: int, held: int) -> str:
    """Return "12", or "0 · 3,701 held"."""
    return f"{waiting:,} · {held:,} held" if held else f"{waiting:,}"


def ended(counts: Counts) -> int:
    return sum(counts.get(state, 0) for state in ENDED)


def state_of(
    counts: Counts,
    *,
    published: bool,
    cancelled: bool,
    paused: bool,
    awaits_reader: bool = False,
    imported: bool = False,
) -> str:
    """`paused` by itself or with its newsletter; `awaits_reader` as stored; `imported`: sent elsewhere."""
    if imported:
        return "imported"
    if cancelled:
        return "cancelled"
    if not published:
        return "waiting" if awaits_reader else "draft"
    if paused and (waiting(counts) or counts.get("held", 0)):
        return "paused"
    return "sending" if waiting(counts) else "sent"


def told(state: str, counts: Counts) -> str:
    """Return "115 sent, 4,890 cancelled"; for a paused issue what waits."""
    left = waiting(counts) + counts.get("held", 0)
    parts = [
        (arrived(counts), "sent"),
        (counts.get("failed", 0), "failed"),
        (counts.get("cancelled", 0), "cancelled"),
        (left, {"cancelled": "about to be cancelled", "paused": "waiting"}.get(state, "to go")),
    ]
    return ", ".join(f"{count:,} {word}" for count, word in parts if count or word == "sent")


def result_sentence(state: str, counts: Counts, *, bounced: int = 0, noun: str = "subscriber") -> str:
    """Return “Sent to 4,801 of 4,806 subscribers. 5 failed.”"""
    every, sent = total(counts), arrived(counts)
    left = waiting(counts) + counts.get("held", 0)
    nouns = pluralize(every, noun)
    match state:
        case "sending":
            return f"Sent to {sent:,} of {nouns} so far."
        case "paused":
            return f"Paused after {sent:,} of {nouns}. {left:,} wait until you resume it."
        case "cancelled":
            return f"Cancelled after {sent:,} of {nouns}. The remaining {every - sent:,} won’t be sent."
    to = f"{nouns}" if every == 1 else f"all {nouns}"
    said = f"Sent to {to if sent == every else f'{sent:,} of {nouns}'}."
    parts = (
        (counts.get("failed", 0), "failed"),
        (bounced, "bounced"),
        (counts.get("cancelled", 0), "cancelled"),
        (left, "held"),
    )
    more = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    return f"{said} {more}." if more else said


def time_left(counts: Counts, per_minute: int) -> timedelta | None:
    return timedelta(minutes=waiting(counts) / per_minute) if per_minute > 0 and waiting(counts) else None


@dataclass(frozen=True, slots=True)
class SentStretch:
    start: datetime
    minutes: int
    count: int


def stretches(by_minute: Iterable[tuple[datetime, int]]) -> list[SentStretch]:
    """Return letters per bar of equal width, empty bars included."""
    rows = list(by_minute)
    if not rows:
        return []
    first, last = rows[0][0], rows[-1][0]
    span = (last - first).total_seconds() / 60
    minutes = next((width for width in WIDTHS if span / width < MOST_BARS), WIDTHS[-1])
    width = timedelta(minutes=minutes)
    # Bars start at round hours.
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    start = midnight + (first - midnight) // width * width
    counts = [0] * (int((last - start) / width) + 1)
    for moment, count in rows:
        counts[int((moment - start) / width)] += count
    return [SentStretch(start + place * width, minutes, count) for place, count in enumerate(counts)]


def release_of(
    approval: str,
    minutes: int | None,
    now: datetime,
    *,
    is_sent_now: bool = False,
    waits_for_editor: bool = False,
) -> tuple[bool, datetime | None]:
    """Return whether an issue completed at `now` is stored as a draft, and when it is sent anyway.

    A draft without a time waits for a click. An editor's wish precedes the newsletter's.
    """
    if is_sent_now or waits_for_editor:
        return not is_sent_now, None
    if approval == "delay" and minutes:
        return True, now + timedelta(minutes=minutes)
    return approval in ("click", "delay"), None


def domain_rests_until(failures: int, now: datetime, *, chance: float | None = None) -> datetime:
    """Return the end of a domain's rest: 5 minutes to 4 hours by consecutive `failures`."""
    return now + delay(failures, first=FIRST_REST, limit=LONGEST_REST, chance=chance)


def is_over(free_at: datetime | None, now: datetime) -> bool:
    """Return whether a refusal now is a new trouble."""
    return free_at is None or now - free_at > WELL_AFTER


def is_everybodys(resting: int, *, sent: bool) -> bool:
    """Return whether so many resting domains, with nothing sent, mean that the fault is ours."""
    return resting >= LARGE_DOMAINS and not sent


def refuses_sender(domains: Collection[str], *, refused: int, sent: int, untried: bool) -> bool:
    """Return whether a newsletter's sender is refused, not only by one odd domain.

    `refused` and `sent` count an issue's letters to these `domains`; `untried`: others remain.
    """
    if not sent:
        return len(domains) >= LARGE_DOMAINS or not untried
    return len(domains) >= LARGE_DOMAINS and refused >= SHARE * (refused + sent)
