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

# By preference, without _, - and accents.
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
        "vor und nachname",
        "vorname nachname",
        "vorname und nachname",
        "nom et prenom",
        "prenom et nom",
        "prenom nom",
        "nom prenom",
        "nombre y apellido",
        "nome e sobrenome",
        "nome e apelido",
    ),
    # A file with only one of these two has full names in it.
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
        "zuname",
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
    "tags": ("tag", "labels", "label", "schlagworter", "schlagworte", "etiquettes", "etiquetas"),
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

# BLOCKS block people with any value except no, WANTS people with none or no.
BLOCKS = ("suppressed", "unsubscribed")
WANTS = ("subscribed", "verified")
IGNORED = "ignore"
MEANINGS = (*COLUMNS, "first", "last", *BLOCKS, *WANTS, IGNORED)
# A list may have several of these columns.
SEVERAL = ("status", *BLOCKS, *WANTS)
# Columns that may say that somebody left.
_SEARCHED = ("email", "name", "first", "last", "tags", "consent_how")
# Details of other columns.
_TOLD_ELSEWHERE = frozenset(
    f"{what} {tail}"
    for what in ("unsub", "clean", "unsubscribe", "bounce")
    for tail in ("campaign title", "campaign id", "reason", "reason other")
)
# First headings of our reports of refused lines.
REPORT = ("line", "reason")
_LONGEST_ANSWER = 7
_LIMITS = {"confirmed": {"yes": "confirmed", "no": "unconfirmed"}, "left": {"yes": "unsubscribed"}}
_BY_PROGRAM = {"wants": "subscribed", "declines": "unsubscribed", "confirms": "verified"}
_ANSWERS = {"yes": "yes", "one": "yes", "no": "no", "zero": "no"}


class NoList(Refused):
    """The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Places of the columns.

    `blocks`: columns with a status, by meaning. `questions`: columns that may mark people who must not be
    mailed; an import needs an admin's meaning for them. `unread`: judgements of these and of ignored columns.
    """

    places: tuple[tuple[str, int], ...]
    program: Program = NO_PROGRAM
    blocks: tuple[tuple[str, int], ...] = ()
    questions: tuple[str, ...] = ()
    unread: tuple[tuple[int, Judgement], ...] = ()

    def row(self, values: Sequence[str]) -> dict[str, str]:
        """Return cells by our names. The status may be empty."""
        count = len(values)
        cells = {name: values[place].strip() if place < count else "" for name, place in self.places}
        if "name" not in cells or not cells["name"]:
            cells["name"] = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
        status = status_in(cells.get("status", ""), self.program)
        limits = [
            limit_of(meaning, values[place] if place < count else "", self.program)
            for meaning, place in self.blocks
        ]
        for name, limit in _LIMITS.items():
            # Other programs write yes or no here.
            if 0 < len(cells.get(name, "")) <= _LONGEST_ANSWER and (answer := _answer(cells, name)):
                limits.append(limit.get(answer, ""))
        if cells.get("left") and not self.program.name:
            # Known programs keep the day when somebody comes back.
            limits.append("unsubscribed")
        if not status:
            if cells.get("bounced"):
                status = "suppressed"
            elif cells.get("left"):
                status = "unsubscribed"
            else:
                agreed = cells.get("confirmed") or (cells.get("wants") and _answer(cells, "wants") == "yes")
                status = "confirmed" if agreed else self.program.status
        cells["status"] = strictest(status, *limits) if limits else status
        return cells


def _answer(cells: dict[str, str], name: str) -> str:
    answer = _ANSWERS.get(sort_of(cells[name]), "")
    if answer:
        cells[name] = ""
    return answer


def limit_of(meaning: str, text: str, program: Program = NO_PROGRAM) -> str:
    """Return the least status that the cell sets, or ""."""
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
    """Return the status, "", or an unknown word itself."""
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
    """Parse a first line. `meanings`: an admin's choices, by column name.

    `survey`: counts for the columns of `places_to_survey`. Raises NoList without exactly one email, or for
    an unknown column in `meanings`.
    """
    known = [plain_name(name) for name in names]
    program = next((each for each in PROGRAMS if each.signs.issubset(known)), NO_PROGRAM)
    given = {plain_name(name): meaning for name, meaning in (meanings or {}).items()}
    if strange := [name for name in meanings or {} if plain_name(name) not in known]:
        raise NoList(f"The first line names no column “{strange[0][:40]}”.")
    free = [name if name not in given else "" for name in known]
    places: dict[str, int] = {}
    for column in (*COLUMNS, *(name for name in ALIASES if name not in COLUMNS)):
        called = (column.replace("_", " "), *program.aliases.get(column, ()), *ALIASES.get(column, ()))
        match = next((name for name, meaning in given.items() if meaning == column), None)
        among = known if match else free
        match = match or next((name for name in called if name in free), None)
        if match is None:
            continue
        if among.count(match) > 1 and column not in SEVERAL:
            raise NoList(f"The first line names the column “{match[:40]}” twice.")
        places[column] = among.index(match)
    if "email" not in places:
        raise NoList(HEADER)
    usual = {name: meaning for meaning in SEVERAL for name in program.aliases.get(meaning, ())}
    meant = {"status": "status", **usual, **given}
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
    """Return columns to count, and columns to search for words."""
    taken = {place for _, place in (*known.places, *known.blocks)}
    called = list(map(plain_name, names))
    harmless = _harmless(called, known.program)
    free = [place for place, name in enumerate(called) if place not in taken and name not in harmless]
    # Our own lists have a status in each line.
    searched = () if known.program.name == OURS else _SEARCHED
    return free, [place for name, place in known.places if name in searched]


def _harmless(called: Sequence[str], program: Program) -> frozenset[str]:
    refused = frozenset(REPORT) if tuple(called[: len(REPORT)]) == REPORT else frozenset[str]()
    return program.ignored | _TOLD_ELSEWHERE | refused


def plain_name(name: str) -> str:
    return " ".join(re.split(r"[\s_-]+", without_accents(name).strip().lower())).strip()
