"""Posts of a collection, and which their publisher wants announced (iffy:hint-announce).

Words for searching, without case and accents.

Each word follows a blank. Words match by their beginning; in scripts without blanks, anywhere.

A post's history in one sentence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeVar
from zoneinfo import ZoneInfo

from common.clock import zone_words
from common.text import WITHOUT_BLANKS, folded, joined, pluralize
from feeds.parsing.entry import Entry
from subscriptions.rules.completion import MONTHS, CollectionFacts, clock_words

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
LONGEST_WORD = 40
MOST_ASKED = 8
_WORD = re.compile(r"[^\W_]+")
_WITHOUT_BLANKS = re.compile(f"[{WITHOUT_BLANKS}]")
ALWAYS, NEVER, PIGGYBACK = "always", "never", "piggyback"
WHY_LEFT_OUT = {
    NEVER: "It was left out: its publisher asks that it is not announced (iffy:hint-announce says never).",
    PIGGYBACK: (
        "It was left out: its publisher asks that it is announced only together with other posts"
        " (iffy:hint-announce says piggyback), and there were none."
    ),
}


class Hinted(Protocol):
    """`announce` is "" (always), "never" or "piggyback"."""

    @property
    def announce(self) -> str: ...


T = TypeVar("T", bound=Hinted)


def announced(posts: Sequence[T]) -> list[T]:
    """Return posts to send: without "never", and nothing if all others piggyback."""
    wanted = [post for post in posts if post.announce != NEVER]
    return wanted if any(post.announce != PIGGYBACK for post in wanted) else []


def override(answer: object, announce: str) -> str:
    """Return the policy after the newsletter's code answered. Raises ValueError for invalid answers."""
    if answer is None:
        return announce
    if not isinstance(answer, str) or answer.lower() not in (ALWAYS, NEVER, PIGGYBACK):
        raise ValueError(f"it must be {ALWAYS}, {NEVER}, {PIGGYBACK} or None")
    return "" if answer.lower() == ALWAYS else answer.lower()


@dataclass(frozen=True, slots=True)
class Post:
    """An item with its assignment (0 in a sample). `content_hash` is of the feed's text."""

    item_id: int
    assignment_id: int
    entry: Entry
    feed_url: str = ""
    content_hash: str = ""

    @property
    def announce(self) -> str:
        return self.entry.announce

    def with_entry(self, entry: Entry) -> "Post":
        return replace(self, entry=entry)


def without(posts: Sequence[Post], others: Sequence[Post]) -> tuple[Post, ...]:
    # By the entry's id, too, as posts of a sample have no item.
    kept = {(post.item_id, post.entry.guid) for post in others}
    return tuple(post for post in posts if (post.item_id, post.entry.guid) not in kept)


def words_in(text: str) -> Iterator[str]:
    return (word[:LONGEST_WORD] for word in _WORD.findall(folded(text)))


def searchable(texts: Iterable[str], *, most: int) -> str:
    """Return each word once, within `most` characters."""
    seen: dict[str, None] = {}
    room = most
    for text in texts:
        for word in words_in(text):
            if word not in seen:
                room -= len(word) + 1
                if room < 0:
                    return "".join(f" {each}" for each in seen)
                seen[word] = None
    return "".join(f" {each}" for each in seen)


def asked_words(text: str) -> tuple[str, ...]:
    """Return up to eight texts that must all occur."""
    found = list(dict.fromkeys(words_in(text)))[:MOST_ASKED]
    return tuple(word if _WITHOUT_BLANKS.search(word) else f" {word}" for word in found)


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
