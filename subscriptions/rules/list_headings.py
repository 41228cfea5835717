"""The headings of a subscriber list: our own, and those of the programs that people come from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
)
STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")
HEADER = "The first line must name the columns; “email” is needed, “name”, “status” and “added” may follow."

# What else a heading may be called, in the order in which they are looked for. (Written without _ and -.)
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
    "added": (
        "added at",
        "optin time",
        "created at",
        "creation date",
        "created",
        "date added",
        "subscribed at",
        "subscription date",
        "sign up date",
        "signup date",
    ),
    "confirmed": ("confirmed at", "confirm time", "confirmation date"),
    "left": ("left at", "unsub time", "unsubscribed at", "unsubscribe date"),
    "bounced": ("clean time",),
    "consent_ip": ("confirm ip",),
    "wants": ("subscribed to emails",),
    "declines": ("email disabled",),
}

# The words of other programs for our four.
STATUS_WORDS: Mapping[str, str] = {
    **{status: status for status in STATUSES},
    **dict.fromkeys(("subscribed", "active", "enabled", "regular", "premium", "free"), "confirmed"),
    **dict.fromkeys(("trialed", "unpaid", "gifted", "churning", "past_due", "paused"), "confirmed"),
    **dict.fromkeys(("pending", "unactivated", "not confirmed yet"), "unconfirmed"),
    **dict.fromkeys(("left", "cancelled", "inactive", "disabled", "removed", "archived"), "unsubscribed"),
    **dict.fromkeys(("cleaned", "bounced", "complained", "blocklisted", "spammy"), "suppressed"),
}
YES, NO = frozenset(("true", "yes", "1")), frozenset(("false", "no", "0"))


class NoList(ValueError):
    """A first line that names no columns of use. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Program:
    """How to know a file of it, what it calls things, and what a line is that has no status."""

    name: str
    signs: frozenset[str]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status: str = "confirmed"


PROGRAMS = (
    Program("Mailchimp", frozenset(("optin time", "confirm time"))),
    Program("Substack", frozenset(("active subscription", "expiry"))),
    Program("Ghost", frozenset(("subscribed to emails", "created at"))),
    Program("Buttondown", frozenset(("creation date", "metadata")), {"status": ("type", "subscriber type")}),
    Program("beehiiv", frozenset(("tier", "created at", "status"))),
    Program("listmonk", frozenset(("uuid", "attributes", "status"))),
)
_ANY = Program("", frozenset(), status="")


@dataclass(frozen=True, slots=True)
class Heading:
    """Where each column stands. `program`: whose export it seems to be, "" for a list of no known one."""

    places: tuple[tuple[str, int], ...]
    program: str = ""
    status: str = ""

    def row(self, values: Sequence[str]) -> dict[str, str]:
        """A line's cells by our names. No status stays empty where nothing in the line tells it."""
        count = len(values)
        cells = {name: values[place].strip() if place < count else "" for name, place in self.places}
        if "name" not in cells or not cells["name"]:
            cells["name"] = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
        said = cells.get("status", "").lower()
        cells["status"] = STATUS_WORDS.get(said, said) or _told(cells) or self.status
        return cells


def heading(names: Sequence[str]) -> Heading:
    """The heading of a first line. Raises NoList when there is no email in it, or twice."""
    known = [_plain(name) for name in names]
    program = next((each for each in PROGRAMS if each.signs.issubset(known)), _ANY)
    places: dict[str, int] = {}
    for column in (*COLUMNS, *(name for name in ALIASES if name not in COLUMNS)):
        called = (column.replace("_", " "), *program.aliases.get(column, ()), *ALIASES.get(column, ()))
        found = next((name for name in called if name in known), None)
        if found is None:
            continue
        if known.count(found) > 1:
            raise NoList(f"The first line names the column “{found[:40]}” twice.")
        places[column] = known.index(found)
    if "email" not in places:
        raise NoList(HEADER)
    return Heading(tuple(places.items()), program.name, program.status)


def _plain(name: str) -> str:
    return " ".join(re.split(r"[\s_-]+", name.strip().lower())).strip()


def _told(cells: Mapping[str, str]) -> str:
    """What other columns say of the status."""
    if cells.get("bounced"):
        return "suppressed"
    wants, declines = cells.get("wants", "").lower(), cells.get("declines", "").lower()
    if cells.get("left") or wants in NO or declines in YES:
        return "unsubscribed"
    return "confirmed" if cells.get("confirmed") or wants in YES else ""
