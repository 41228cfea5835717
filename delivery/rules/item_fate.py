"""A post's history in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from common.text import joined, pluralize
from common.zones import zone_words
from subscriptions.rules.completion import CollectionFacts
from subscriptions.rules.words import MONTHS, clock_words

# More newsletters are counted, not named.
MOST_TOLD = 2
SENT, KEPT, SENDING, WAITS, LEFT_OUT = "sent", "kept", "sending", "waits", "left out"
NOBODY, CANCELLED, FAILED = "nobody", "cancelled", "failed"
# Said once for all newsletters, in this order.
TOLD_TOGETHER = {
    SENT: "sent in {}",
    KEPT: "kept in the mailbox, not sent, in {}",
    SENDING: "being sent in {}",
    NOBODY: "in the archive of {}, which had no subscribers",
    CANCELLED: "cancelled in {}",
    FAILED: "refused by every recipient’s server in {}",
}
# As a cell of a list counts them.
IN_CELLS = (
    ("sent in {}", (SENT, KEPT)),
    ("being sent in {}", (SENDING,)),
    ("waits in {}", (WAITS,)),
    ("in {} archives", (NOBODY,)),
    ("cancelled in {}", (CANCELLED,)),
    ("refused in {}", (FAILED,)),
    ("left out of {}", (LEFT_OUT,)),
)
SOON = "and is sent within moments"
REACHING = frozenset({SENT, KEPT, SENDING, WAITS})


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """A newsletter's state for the post. `until`: when it will be sent; `words` follow the name."""

    newsletter: str
    state: str
    words: str = ""
    until: datetime | None = None
    issue: int | None = None


def fate_sentence(places: Sequence[ItemPlace], otherwise: str) -> str:
    """Return "Sent in 3 newsletters; waits in Monthly until 1 December at 7:00, New York time."

    `otherwise` is the feed's sentence for a post that no newsletter has.
    """
    parts = []
    for state, clause in TOLD_TOGETHER.items():
        # A collection that was sent again is the same newsletter.
        named = dict.fromkeys(place.newsletter for place in places if place.state == state)
        if named:
            few = len(named) <= MOST_TOLD
            parts.append(clause.format(joined(named) if few else pluralize(len(named), "newsletter")))
    parts += _waits([place for place in places if place.state == WAITS])
    parts += [
        f"left out of {each.newsletter}: {each.words.rstrip('.')}"
        for each in places
        if each.state == LEFT_OUT
    ]
    if not parts:
        return otherwise
    said = "; ".join(parts)
    if any(place.state in REACHING for place in places):
        return f"{said[:1].upper()}{said[1:]}."
    return f"Not sent: {said}."


def fate_cell(places: Sequence[ItemPlace]) -> str:
    """Return "Sent in 3 · waits in 4": newsletters by what became of the post there."""
    named = {
        words: {each.newsletter for each in places if each.state in states} for words, states in IN_CELLS
    }
    said = " · ".join(words.format(len(newsletters)) for words, newsletters in named.items() if newsletters)
    return said[:1].upper() + said[1:]


def _waits(places: Sequence[ItemPlace]) -> list[str]:
    timed = sorted((each.until, f"in {each.newsletter} {each.words}") for each in places if each.until)
    if len(timed) > MOST_TOLD:
        said = [f"waits in {pluralize(len(timed), 'newsletter')}, the next {timed[0][1]}"]
        places = [each for each in places if not each.until]
    else:
        said = []
    return said + [f"waits in {each.newsletter} {each.words}".rstrip() for each in places]


def until_words(moment: datetime, now: datetime, zone: ZoneInfo) -> str:
    """Return "until 1 December at 7:00, New York time", with another year."""
    local = moment.astimezone(zone)
    year = f" {local.year}" if local.year != now.astimezone(zone).year else ""
    day = f"{local.day} {MONTHS[local.month - 1]}{year}"
    return f"until {day} at {clock_words(local.time())}, {zone_words(zone)}"


def waits_in_collection(facts: CollectionFacts, now: datetime, zone: ZoneInfo) -> ItemPlace:
    """Leave the newsletter's name empty."""
    if facts.period_end is not None and facts.period_end > now and not facts.is_sent_now:
        return ItemPlace("", WAITS, until_words(facts.period_end, now, zone), facts.period_end)
    missing = (facts.capacity or 0) - facts.count
    if facts.period_end is not None or missing <= 0 or facts.is_sent_now or not facts.takes_more:
        return ItemPlace("", WAITS, SOON)
    latest, words = facts.wait_end, f"for {pluralize(missing, 'more post', 'more posts')}"
    if latest is not None:
        words += f", {until_words(latest, now, zone)}, at the latest"
    return ItemPlace("", WAITS, words, latest)
