"""The headings of a subscriber list: our own, and those of the programs that people come from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.refused import Refused
from subscriptions.rules.lists.judging import Judgement, judge
from subscriptions.rules.lists.programs import NO_PROGRAM, OURS, PROGRAMS, Program
from subscriptions.rules.lists.statuses import (
    EMPTY,
    GETS_NOTHING,
    sort_of,
    status_of_words,
    strictest,
    without_accents,
)
from subscriptions.rules.lists.survey import ColumnSurvey

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

# Other names of headings, in the order of preference, without _, - and accents.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "email": (
        "email address",
        "e mail",
        "e mail address",
        "e mail adresse",
        "email adresse",
        "emailadresse",
        "mailadresse",
        "adresse e mail",
        "adresse email",
        "adresse mail",
        "courriel",
        "adresse courriel",
        "adresse de courriel",
        "adresse electronique",
        "correo electronico",
        "correo",
        "direccion de correo electronico",
        "direccion de email",
        "endereco de e mail",
        "endereco de email",
        "indirizzo email",
        "indirizzo e mail",
        "e mailadres",
        "emailadres",
        "subscriber email",
        "primary email",
        "mail",
    ),
    "name": (
        "full name",
        "display name",
        "vollstandiger name",
        "nom complet",
        "nombre completo",
        "nombre y apellidos",
        "nome completo",
        "volledige naam",
        "naam",
    ),
    # A file with only one of these two has whole names in it.
    "first": (
        "first name",
        "firstname",
        "given name",
        "fname",
        "vorname",
        "prenom",
        "nombre",
        "nombres",
        "primer nombre",
        "nome",
        "primeiro nome",
        "voornaam",
    ),
    "last": (
        "last name",
        "lastname",
        "family name",
        "surname",
        "lname",
        "nachname",
        "familienname",
        "nom de famille",
        "nom",
        "apellidos",
        "apellido",
        "sobrenome",
        "apelido",
        "ultimo nome",
        "cognome",
        "achternaam",
    ),
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

# Meanings by which a column blocks people: those with something in it, or those with nothing or a no in it.
BLOCKS = ("suppressed", "unsubscribed")
WANTS = ("subscribed", "verified")
IGNORED = "ignore"
MEANINGS = (*COLUMNS, "first", "last", *BLOCKS, *WANTS, IGNORED)
# Columns of which a list may have several.
SEVERAL = ("status", *BLOCKS, *WANTS)
# Columns that are read, and of which a cell may say that somebody left all the same.
_SEARCHED = ("email", "name", "first", "last", "tags", "consent_how")
# These columns only add detail to one that is read.
_TOLD_ELSEWHERE = frozenset(
    f"{what} {tail}"
    for what in ("unsub", "clean", "unsubscribe", "bounce")
    for tail in ("campaign title", "campaign id", "reason", "reason other")
)
# The first headings of our reports of refused lines, which are mended and imported.
REPORT = ("line", "reason")
_LONGEST_ANSWER = 7
_LIMITS = {"confirmed": {"yes": "confirmed", "no": "unconfirmed"}, "left": {"yes": "unsubscribed"}}
# Meaning of yes and no in columns of known programs.
_BY_PROGRAM = {"wants": "subscribed", "declines": "unsubscribed", "confirms": "verified"}
_ANSWERS = {"yes": "yes", "one": "yes", "no": "no", "zero": "no"}


class NoList(Refused):
    """A first line that names no columns of use. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The place of each column.

    `blocks` are further columns that say a status, by their meanings. `questions` are the names of columns
    that may name people who must not be mailed: until somebody has said what they mean, nothing is imported.
    `unread` has the judgements of these, and of such columns that a person chose to ignore, by place.
    """

    places: tuple[tuple[str, int], ...]
    program: Program = NO_PROGRAM
    blocks: tuple[tuple[str, int], ...] = ()
    questions: tuple[str, ...] = ()
    unread: tuple[tuple[int, Judgement], ...] = ()

    def row(self, values: Sequence[str]) -> dict[str, str]:
        """A line's cells by our names. The status is empty only where nothing in the line tells it."""
        count = len(values)
        cells = {name: values[place].strip() if place < count else "" for name, place in self.places}
        if "name" not in cells or not cells["name"]:
            cells["name"] = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
        said = status_in(cells.get("status", ""), self.program)
        limits = [
            limit_of(meaning, values[place] if place < count else "", self.program)
            for meaning, place in self.blocks
        ]
        for name, limit in _LIMITS.items():
            # Other programs write yes or no where we have a date.
            if 0 < len(cells.get(name, "")) <= _LONGEST_ANSWER and (answer := _answer(cells, name)):
                limits.append(limit.get(answer, ""))
        if cells.get("left") and not self.program.name:
            # Of known programs we know that they keep the day when somebody comes back.
            limits.append("unsubscribed")
        if not said:
            if cells.get("bounced"):
                said = "suppressed"
            elif cells.get("left"):
                said = "unsubscribed"
            else:
                agreed = cells.get("confirmed") or (cells.get("wants") and _answer(cells, "wants") == "yes")
                said = "confirmed" if agreed else self.program.status
        cells["status"] = strictest(said, *limits) if limits else said
        return cells


def _answer(cells: dict[str, str], name: str) -> str:
    """Take a yes or a no out of a cell, and return it."""
    answer = _ANSWERS.get(sort_of(cells[name]), "")
    if answer:
        cells[name] = ""
    return answer


def limit_of(meaning: str, text: str, program: Program = NO_PROGRAM) -> str:
    """Return the status that a cell of a column with such a meaning sets at least, or ""."""
    if meaning == "status":
        return status_in(text, program)
    sort = sort_of(text)
    if meaning in BLOCKS:
        return "" if sort in EMPTY else meaning
    if sort in GETS_NOTHING:
        return sort
    refusal = "unconfirmed" if meaning == "verified" else "unsubscribed"
    return refusal if sort in EMPTY else ""


def status_in(text: str, program: Program) -> str:
    """Return the status that a program's word means, "" for none, or the word where it is unknown."""
    word = text.strip().lower()
    if not word:
        return ""
    known = program.status_words.get(word)
    if known is None:
        known = status_of_words(text)
    return word if known is None else known


def heading(
    names: Sequence[str],
    meanings: Mapping[str, str] | None = None,
    survey: Mapping[int, ColumnSurvey] | None = None,
) -> Heading:
    """The heading of a first line. `meanings` is what a person said that columns mean, by the columns' names.

    `survey` has the counts of the columns of `places_to_survey`; without it only their headings are judged.
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
        if among.count(found) > 1 and column not in SEVERAL:
            raise NoList(f"The first line names the column “{found[:40]}” twice.")
        places[column] = among.index(found)
    if "email" not in places:
        raise NoList(HEADER)
    usual = {name: meaning for meaning in SEVERAL for name in program.aliases.get(meaning, ())}
    meant = {"status": "status", **usual, **told}
    taken = set(places.values())
    blocks = [
        (meant[name], place)
        for place, name in enumerate(known)
        if meant.get(name) in SEVERAL and place not in taken
    ]
    taken |= {place for _, place in blocks}
    blocks += [(meaning, places[name]) for name, meaning in _BY_PROGRAM.items() if name in places]
    taken |= {place for place, name in enumerate(free) if name in _harmless(known, program)}
    unread = []
    for place, name in enumerate(names):
        if place in taken or not (judgement := judge(name, survey.get(place) if survey else None)):
            continue
        if free[place] and not judgement.must_ask:
            blocks.append((judgement.meaning, place))
        else:
            unread.append((place, judgement))
    for meaning, place in places.items():
        held = survey.get(place) if survey and free[place] else None
        if held and held.leaving:
            unread.append((place, Judgement(meaning, held.leaving, held.example)))
    unread.sort(key=lambda each: each[0])
    questions = dict.fromkeys(names[place] for place, _ in unread if free[place])
    return Heading(tuple(places.items()), program, tuple(blocks), tuple(questions), tuple(unread))


def places_to_survey(names: Sequence[str], known: Heading) -> tuple[list[int], list[int]]:
    """Return the columns whose cells have to be counted, and those in which words are looked for."""
    taken = {place for _, place in (*known.places, *known.blocks)}
    called = list(map(plain_name, names))
    harmless = _harmless(called, known.program)
    free = [place for place, name in enumerate(called) if place not in taken and name not in harmless]
    # Our own lists say the status of each line in its column.
    searched = () if known.program.name == OURS else _SEARCHED
    return free, [place for name, place in known.places if name in searched]


def _harmless(called: Sequence[str], program: Program) -> frozenset[str]:
    """Return the headings of columns that add nothing to those that are read."""
    refused = frozenset(REPORT) if tuple(called[: len(REPORT)]) == REPORT else frozenset[str]()
    return program.ignored | _TOLD_ELSEWHERE | refused


def plain_name(name: str) -> str:
    """A heading as it is compared."""
    return " ".join(re.split(r"[\s_-]+", without_accents(name).strip().lower())).strip()
