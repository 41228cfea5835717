import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from common.refused import Refused
from subscriptions.rules.lists.judging import IGNORED, Judgement, may_tell_apart, proposal, refuses
from subscriptions.rules.lists.statuses import (
    LIST_STATUSES,
    NO_PROGRAM,
    OURS,
    PROGRAMS,
    Program,
    sort_of,
    status_of_words,
    strictest,
    without_accents,
)
from subscriptions.rules.lists.survey import BLOCKS, NOTES, WANTS, ColumnSurvey, limit_of_sort

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
    column: tuple(names.split("; ")) if names else ()
    for column, names in {
        "email": (
            "email address; e mail; e mail address; e mail adresse; email adresse; emailadresse; mailadresse;"
            " adresse e mail; adresse email; adresse mail; courriel; adresse courriel; adresse de courriel;"
            " adresse electronique; correo electronico; correo; direccion de correo electronico; direccion de"
            " email; endereco de e mail; endereco de email; indirizzo email; indirizzo e mail; e mailadres;"
            " emailadres; subscriber email; primary email; mail; e mail 1 value"
        ),
        "name": (
            "full name; display name; vollstandiger name; nom complet; nombre completo; nombre y "
            "apellidos; nome completo; volledige naam; naam; vor und nachname; vorname nachname; vorname "
            "und nachname; nom et prenom; prenom et nom; prenom nom; nom prenom; nombre y apellido; nome "
            "e sobrenome; nome e apelido"
        ),
        # A file with only one of these two has full names in it.
        "first": (
            "first name; firstname; given name; fname; vorname; prenom; nombre; nombres; primer nombre; "
            "nome; primeiro nome; voornaam"
        ),
        "last": (
            "last name; lastname; family name; surname; lname; nachname; zuname; familienname; nom de "
            "famille; nom; apellidos; apellido; sobrenome; apelido; ultimo nome; cognome; achternaam"
        ),
        "status": "subscription status; subscriber status",
        "language": "lang; locale",
        "tags": "tag; labels; label; schlagworter; schlagworte; etiquettes; etiquetas",
        "added": (
            "added at; optin time; created at; creation date; created; date added; subscribed at; "
            "subscription date; date created; date registered; sign up date; signup date"
        ),
        "confirmed": "confirmed at; confirm time; confirmation date",
        "left": "left at; unsub time; unsubscribed at; unsubscribe date",
        "bounced": "clean time",
        "consent_ip": "confirm ip",
        "wants": "subscribed to emails",
        "declines": "email disabled",
        "confirms": "",
    }.items()
}

MEANINGS = (*COLUMNS, "first", "last", *BLOCKS, *WANTS, NOTES, IGNORED)
# A list may have several of these columns.
SEVERAL = ("status", *BLOCKS, *WANTS, NOTES)
# Columns that may say that somebody left.
_SEARCHED = ("email", "name", "first", "last", "tags", "consent_how")
# These meanings leave a column what its heading says, too.
_BESIDE = (NOTES, "verified")
# Details of other columns.
_TOLD_ELSEWHERE = frozenset(
    f"{what} {tail}"
    for what in ("unsub", "clean", "unsubscribe", "bounce")
    for tail in ("campaign title", "campaign id", "reason", "reason other")
)
# First headings of our reports of refused lines.
REPORT = ("line", "reason")
_LONGEST_ANSWER = 7
_KNOWN = ("", *LIST_STATUSES)
_DECIDING = ("status", "confirmed", "left", "bounced")
_COUNTED = ("status", "confirmed")
_LIMITS = {"confirmed": {"no": "unconfirmed"}, "left": {"yes": "unsubscribed"}}
_BY_PROGRAM = {"wants": "subscribed", "declines": "unsubscribed", "confirms": "verified"}
_ANSWERS = {"yes": "yes", "one": "yes", "no": "no", "zero": "no"}


class NoList(Refused):
    """The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Places of the columns.

    `blocks`: columns with a status, by meaning. `judged`: columns that may mark people who must get nothing.
    """

    places: tuple[tuple[str, int], ...]
    program: Program = NO_PROGRAM
    blocks: tuple[tuple[str, int], ...] = ()
    judged: tuple[tuple[int, Judgement], ...] = ()

    @property
    def questions(self) -> tuple[Judgement, ...]:
        """Return columns whose meaning an admin must give before the import."""
        return tuple(judgement for _, judgement in self.judged if judgement.must_ask)

    def row(self, values: Sequence[str], status: str = "") -> dict[str, str]:
        """Return cells by our names, with the line's status, which may be an unknown word.

        `status`: what the admin says of the whole list. Nobody becomes more than that.
        """
        count = len(values)
        cells = {name: values[place].strip() if place < count else "" for name, place in self.places}
        if "name" not in cells or not cells["name"]:
            cells["name"] = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
        cells["status"] = self._status(cells, values, status)
        return cells

    def status_of(self, values: Sequence[str], status: str = "") -> str:
        """Return only the status of `row`."""
        count = len(values)
        cells = {
            name: values[place].strip() for name, place in self.places if name in _DECIDING and place < count
        }
        return self._status(cells, values, status)

    def _status(self, cells: dict[str, str], values: Sequence[str], status: str) -> str:
        count = len(values)
        limits = [] if status == "confirmed" else [status]
        limits += [
            limit_of(meaning, values[place] if place < count else "", self.program)
            for meaning, place in self.blocks
        ]
        for name, limit in _LIMITS.items():
            # Other programs write yes or no here.
            if 0 < len(cells.get(name, "")) <= _LONGEST_ANSWER and (answer := _answer(cells, name)):
                limits.append(limit.get(answer, ""))
        own = status_in(cells.get("status", ""), self.program)
        if not own and cells.get("bounced"):
            own = "suppressed"
        # Known programs keep the day when somebody comes back.
        if cells.get("left") and not (own and self.program.name):
            limits.append("unsubscribed")
        return strictest(own or status or "unconfirmed", *limits)


def _answer(cells: dict[str, str], name: str) -> str:
    answer = _ANSWERS.get(sort_of(cells[name]), "")
    if answer:
        cells[name] = ""
    return answer


def limit_of(meaning: str, text: str, program: Program = NO_PROGRAM) -> str:
    """Return the least status that the cell sets, or ""."""
    return status_in(text, program) if meaning == "status" else limit_of_sort(meaning, sort_of(text))


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
    words: Mapping[str, str] | None = None,
) -> Heading:
    """Parse a first line. `meanings`: an admin's choices by column name; `words`: statuses by word.

    `survey`: counts for the columns of `places_to_survey`. Raises NoList without exactly one email, or for
    an unknown column in `meanings`.
    """
    known = [plain_name(name) for name in names]
    program = next((each for each in PROGRAMS if each.signs.issubset(known)), NO_PROGRAM)
    if words:
        lower = {word.strip().lower(): status for word, status in words.items()}
        program = replace(program, status_words={**program.status_words, **lower})
    given = {plain_name(name): meaning for name, meaning in (meanings or {}).items()}
    if strange := [name for name in meanings or {} if plain_name(name) not in known]:
        raise NoList(f"The first line names no column “{strange[0][:40]}”.")
    free = [name if given.get(name, NOTES) in _BESIDE else "" for name in known]
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
        if meant.get(name) in SEVERAL and (place not in taken or given.get(name) in _BESIDE)
    ]
    blocks += [(meaning, places[name]) for name, meaning in _BY_PROGRAM.items() if name in places]
    result = Heading(tuple(places.items()), program, tuple(blocks))
    answered = {place for place, name in enumerate(known) if name in given}
    return replace(result, judged=tuple(_judged(names, known, result, answered, survey)))


def _judged(
    names: Sequence[str],
    known: Sequence[str],
    columns: Heading,
    answered: Collection[int],
    survey: Mapping[int, ColumnSurvey] | None,
) -> Iterator[tuple[int, Judgement]]:
    """Yield the columns to ask about, and ignored ones that concern somebody."""
    at = {place: meaning for meaning, place in (*columns.blocks, *columns.places)}
    ignored = _ignored(known, columns.program)
    for place, name in enumerate(names):
        meaning, must_ask = at.get(place, ""), place not in answered
        column = survey.get(place) if survey else None
        if column is None:
            if not survey and not meaning and refuses(name) and known[place] not in ignored:
                yield place, Judgement(name, "suppressed", ColumnSurvey(), must_ask)
        elif meaning == "status" or ("status", place) in columns.blocks:
            words = [word for word in column.values if status_in(word, columns.program) not in _KNOWN]
            if words and column.unknown * 2 > column.lines():
                yield place, Judgement(name, "", column, words=tuple(words))
        elif meaning == "confirmed":
            # Who has neither a status nor such a time may have been asked only.
            if (
                must_ask
                and "status" not in at.values()
                and column.after("verified")["unconfirmed"] > column.after("")["unconfirmed"]
            ):
                yield place, Judgement(name, "verified", column)
        elif meaning:
            if must_ask and column.leaving:
                yield place, Judgement(name, NOTES, column)
        elif (must_ask and may_tell_apart(name, column)) or column.leaving:
            yield place, Judgement(name, proposal(name, column), column, must_ask)


def places_to_survey(names: Sequence[str], known: Heading) -> tuple[list[int], list[int]]:
    """Return columns to count, and columns to search for words."""
    taken = {place for meaning, place in (*known.places, *known.blocks) if meaning not in _COUNTED}
    called = list(map(plain_name, names))
    ignored = _ignored(called, known.program)
    # Our own lists have a status in each line.
    is_ours = known.program.name == OURS
    free = [place for place, name in enumerate(called) if place not in taken and name not in ignored]
    texts = [place for name, place in known.places if name in _SEARCHED and not is_ours]
    return [place for place in free if place not in texts], texts


def _ignored(called: Sequence[str], program: Program) -> frozenset[str]:
    refused = frozenset(REPORT) if tuple(called[: len(REPORT)]) == REPORT else frozenset[str]()
    return program.ignored | _TOLD_ELSEWHERE | refused


def plain_name(name: str) -> str:
    return " ".join(re.split(r"[\s_-]+", without_accents(name).strip().lower())).strip()
