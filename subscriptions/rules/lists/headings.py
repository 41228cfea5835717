"""The headings of a subscriber list: our own, and those of the programs that people come from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.refused import Refused
from subscriptions.rules.lists.programs import NO_PROGRAM, PROGRAMS, STATUS_WORDS, Program

COLUMNS = (
    "email",
    "name",
    "status",
    "language",
    "added",
    "confirmed",
    "left",
    "consent_at",
    "consent_how",
    "consent_words",
    "consent_ip",
    "upstream_id",
    "tags",
)
HEADER = "The first line must name the columns; “email” is needed, “name”, “status” and “added” may follow."

# What else a heading may be called, in the order in which they are looked for, without _ and -.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "email": (
        "email address",
        "e mail",
        "e mail address",
        "e mail adresse",
        "adresse e mail",
        "correo electrónico",
        "endereço de e mail",
        "mail",
    ),
    "name": ("full name", "display name"),
    "first": ("first name", "firstname", "given name"),
    "last": ("last name", "lastname", "family name", "surname"),
    "status": ("subscription status", "subscriber status"),
    "language": ("lang", "locale"),
    "tags": ("tag", "labels", "label"),
    "added": (
        "added at",
        "optin time",
        "created at",
        "creation date",
        "created",
        "date added",
        "subscribed at",
        "subscription date",
        "date created",
        "date registered",
        "sign up date",
        "signup date",
    ),
    "confirmed": ("confirmed at", "confirm time", "confirmation date"),
    "left": ("left at", "unsub time", "unsubscribed at", "unsubscribe date"),
    "bounced": ("clean time",),
    "consent_ip": ("confirm ip",),
    "wants": ("subscribed to emails",),
    "declines": ("email disabled",),
    "confirms": (),
}

# Meanings of a column that block whoever has something in it.
BLOCKS = ("suppressed", "unsubscribed")
IGNORED = "ignore"
MEANINGS = (*COLUMNS, "first", "last", *BLOCKS, IGNORED)

YES, NO = frozenset(("true", "yes", "1", "y")), frozenset(("false", "no", "0", "n"))
_NOTHING_IN_IT = re.compile(r"(?:false|no|n|none|null|never|off|[\s0.:/-]*)", re.IGNORECASE)
_LOOKS_BLOCKED = re.compile(
    r"bl(?:a|o)c?k ?list|block(?:ed|list)|unsub|opt(?:ed)? ?out|bounce|delet|suppress|complain|spam|banned"
    r"|undeliver|disabled|removed|cleaned|do not|d[eé]sabonn|desinscri|abgemeldet|gesperrt|baja"
)
# These columns only add detail to one that is read.
_TOLD_ELSEWHERE = frozenset(
    f"{what} {tail}"
    for what in ("unsub", "clean", "unsubscribe", "bounce")
    for tail in ("campaign title", "campaign id", "reason", "reason other")
)


class NoList(Refused):
    """A first line that names no columns of use. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Where each column stands.

    `blocks` are the columns by which people are blocked. `questions` are the names of columns that look as
    if they did that, too; until somebody has said what they mean, nothing is imported.
    """

    places: tuple[tuple[str, int], ...]
    program: Program = NO_PROGRAM
    blocks: tuple[tuple[str, int], ...] = ()
    questions: tuple[str, ...] = ()

    def row(self, values: Sequence[str]) -> dict[str, str]:
        """A line's cells by our names. The status is empty only where nothing in the line tells it."""
        count = len(values)
        cells = {name: values[place].strip() if place < count else "" for name, place in self.places}
        if "name" not in cells or not cells["name"]:
            cells["name"] = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
        said = cells.get("status", "").lower()
        said = self.program.status_words.get(said, STATUS_WORDS.get(said, said))
        if not said:
            wants, declines = cells.get("wants", "").lower(), cells.get("declines", "").lower()
            if cells.get("bounced"):
                said = "suppressed"
            elif cells.get("left") or wants in NO or declines in YES:
                said = "unsubscribed"
            elif cells.get("confirms", "").lower() in NO:
                said = "unconfirmed"
            else:
                said = "confirmed" if cells.get("confirmed") or wants in YES else self.program.status
        cells["status"] = said
        for status, place in self.blocks:
            is_blocked = place < count and not _NOTHING_IN_IT.fullmatch(values[place].strip())
            if is_blocked and cells["status"] != "suppressed":
                cells["status"] = status
        return cells


def heading(names: Sequence[str], meanings: Mapping[str, str] | None = None) -> Heading:
    """The heading of a first line. `meanings` is what a person said that columns mean, by the columns' names.

    Raises NoList when the line names no email or names it twice, or has no column that a meaning is given to.
    """
    known = [plain_name(name) for name in names]
    program = next((each for each in PROGRAMS if each.signs.issubset(known)), NO_PROGRAM)
    told = {plain_name(name): meaning for name, meaning in (meanings or {}).items()}
    if strange := [name for name in meanings or {} if plain_name(name) not in known]:
        raise NoList(f"The first line names no column “{strange[0][:40]}”.")
    free = [name if name not in told else "" for name in known]
    places: dict[str, int] = {}
    for column in (*COLUMNS, *(name for name in ALIASES if name not in COLUMNS)):
        called = (column.replace("_", " "), *program.aliases.get(column, ()), *ALIASES.get(column, ()))
        found = next((name for name, meaning in told.items() if meaning == column), None)
        among = known if found else free
        found = found or next((name for name in called if name in free), None)
        if found is None:
            continue
        if among.count(found) > 1:
            raise NoList(f"The first line names the column “{found[:40]}” twice.")
        places[column] = among.index(found)
    if "email" not in places:
        raise NoList(HEADER)
    usual = {name: block for block in BLOCKS for name in program.aliases.get(block, ())}
    meant = {**usual, **told}
    found_blocks = ((meant[name], place) for place, name in enumerate(known) if meant.get(name) in BLOCKS)
    # A column that suppresses comes last: it counts where another one blocks, too.
    blocks = tuple(sorted(found_blocks, reverse=True))
    left = {place for place, name in enumerate(free) if name} - {*places.values(), *(at for _, at in blocks)}
    harmless = program.ignored | _TOLD_ELSEWHERE
    questions = (
        names[place]
        for place in sorted(left)
        if _LOOKS_BLOCKED.search(known[place]) and known[place] not in harmless
    )
    return Heading(tuple(places.items()), program, blocks, tuple(dict.fromkeys(questions)))


def plain_name(name: str) -> str:
    """A heading as it is compared."""
    return " ".join(re.split(r"[\s_-]+", name.strip().lower())).strip()
