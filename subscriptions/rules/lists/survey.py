import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.text import words
from subscriptions.rules.lists.statuses import (
    EMPTY,
    GETS_NOTHING,
    LIST_STATUSES,
    is_day,
    leaving_word,
    rank,
    sort_of,
    strictest,
)

# Columns with more different cells are texts.
MOST_SORTS = 500
# A column with more different cells is no status.
MOST_VALUES = 7
LONGEST_SHOWN = 40

# Meanings of columns with a status. BLOCKS block people with any value except no, WANTS people with none or
# no, NOTES people whose words say that they left.
BLOCKS = ("suppressed", "unsubscribed")
WANTS = ("subscribed", "verified")
NOTES = "notes"
UNKNOWN = "unknown"
_ADDRESS = re.compile(r"\S+@\S+")
_DIGIT = re.compile(r"\d")
_OTHER_SCRIPTS = ("жало", "забл", "непо", "отпи")
_SIGNS = {place: " " for place in range(128) if not chr(place).isalnum()} | {10: "\n"}
# Beginnings of `leaving_word`'s words, and of those after a negation. This prefilter takes a twentieth of the
# time. A test checks that it is complete.
_BEGINNINGS = words(
    "abbe abge abme abus afge afme afwa agua annu arch atte ausg auss aust avme avpr avre awai baja "
    "bane bani bann bere besc blac bloc blok bloq boun canc clea comp conf cons deac deak decl dele "
    "deni denu dere desa desb desc desi dess desu devo deza disa disi dono dont dorm elim entf espe excl "
    "expi gean gebl gebo gede geke gekn geku gele gelo gels gesp gewe hard hold inac inak inat inde "
    "inva invi kend klac kndi kuen kund left leir limp list naoa naob naoc naog naov nett neve nich niep "
    "niet noa noac noak noan noat nobe noco nocu noge nona nonb nonc nond none nong nonm nono nons nonv nony "
    "noop nosu nota notb notc notd note notg notm noto nots notv noty nova nove noye obje ocze odhl "
    "onbe opge opt opte opti opto opts pasa pasb pasc pasg pasv pend plai quar quej quit rebo rech "
    "recl recu refu regi reje remo resi reti revo rifi rimb rimo saiu schw soft sopp spam sper stop "
    "stor stud supp supr temp uitg uits unac unbe unco unde unge ungl ungu unre unsu unva unve unzu "
    "verw wait wart wide with wypi zabl zurc zure zuru zwar"
)
_COMMON = words("with within without note notes noted none never nicht niet")
_NEGATIONS = words("no not non never nao nicht kein keine pas niet geen do don dont un de")
_NEGATED = words(
    "abon acei acep acti akko akti ange assi ativ atti best beve cons cont deli dist eing eins einv "
    "einw emai entr exis geab geac geve inge insc iscr mail mark news opt opte opti perm send set "
    "soli subs susc toes vali veri werb writ zust"
)


@dataclass(slots=True)
class ColumnSurvey:
    """Lines by `sort_of` their cell, and by the status that the rest of the line gives them.

    `values`: lines by cell, for the first MOST_VALUES ones. `is_text`: too many to sort; only leaving, dates
    and empty cells are counted apart. `example`: a cell that allows less than its line gets.
    """

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    values: Counter[str] = field(default_factory=Counter)
    has_more: bool = False
    is_text: bool = False
    addresses: int = 0
    example: str = ""

    @property
    def kinds(self) -> set[str]:
        return {sort for sort in self.counts if sort != "nothing"}

    def lines(self, *sorts: str) -> int:
        """Count the lines that may get emails, of these sorts or of all."""
        return sum(
            count
            for sort, by_status in self.counts.items()
            if not sorts or sort in sorts
            for status, count in by_status.items()
            if rank(status) < rank("unsubscribed")
        )

    @property
    def filled(self) -> int:
        return self.lines() - self.lines(*EMPTY)

    @property
    def leaving(self) -> int:
        """Count the lines that get more than their cell allows."""
        return sum(
            count
            for sort in GETS_NOTHING
            for status, count in self.counts.get(sort, Counter()).items()
            if rank(status) < rank(sort)
        )

    @property
    def unknown(self) -> int:
        return sum(by_status[UNKNOWN] for by_status in self.counts.values())

    def after(self, meaning: str) -> Counter[str]:
        """Return the lines by status if the column meant that."""
        result: Counter[str] = Counter()
        for sort, by_status in self.counts.items():
            for status, count in by_status.items():
                result[strictest(status, limit_of_sort(meaning, sort))] += count
        return result

    def as_json(self) -> dict[str, Any]:
        counts = {sort: dict(by_status) for sort, by_status in self.counts.items()}
        plain = {name: getattr(self, name) for name in ("has_more", "is_text", "addresses", "example")}
        return {**plain, "counts": counts, "values": dict(self.values)}

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "ColumnSurvey":
        counts = {sort: Counter(by_status) for sort, by_status in value["counts"].items()}
        return cls(**{**value, "counts": counts, "values": Counter(value["values"])})


def limit_of_sort(meaning: str, sort: str) -> str:
    """Return the least status that a cell of that sort sets, or "". Other words of a "status" are UNKNOWN."""
    if meaning == "status":
        return "" if sort == "nothing" else sort if sort in LIST_STATUSES else UNKNOWN
    if meaning in BLOCKS:
        return "" if sort in EMPTY else meaning
    if meaning not in (*WANTS, NOTES):
        return ""
    if sort in GETS_NOTHING:
        return sort
    refusal = {"subscribed": "unsubscribed", "verified": "unconfirmed"}.get(meaning, "")
    return refusal if sort in EMPTY else ""


class Survey:
    """Bounded memory. `places`: columns to count; `texts`: columns to search only."""

    def __init__(
        self, places: Iterable[int], texts: Iterable[int], status_of: Callable[[Sequence[str]], str]
    ) -> None:
        self._texts = frozenset(texts)
        self.columns = {place: ColumnSurvey() for place in places}
        self.columns |= {place: ColumnSurvey(is_text=True, has_more=True) for place in self._texts}
        self._known: dict[int, dict[str, str]] = {place: {} for place in self.columns}
        self._status_of = status_of

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        words = map(self._status_of, rows)
        statuses = [word if word in LIST_STATUSES else UNKNOWN for word in words]
        for place, column in self.columns.items():
            try:
                cells = [row[place] for row in rows]
            except IndexError:
                cells = [row[place] if place < len(row) else "" for row in rows]
            known = leaving_among(cells) if column.is_text else self._known[place]
            if place in self._texts and not known:
                continue
            for (cell, status), count in Counter(zip(cells, statuses, strict=True)).items():
                sort = known.get(cell)
                if sort is None:
                    sort = known[cell] = _sort_of_text(cell) if column.is_text else sort_of(cell)
                column.counts.setdefault(sort, Counter())[status] += count
                if sort in GETS_NOTHING and not column.example and rank(status) < rank(sort):
                    column.example = " ".join(cell.split())[:LONGEST_SHOWN]
                if "@" in cell and _ADDRESS.fullmatch(cell.strip()):
                    column.addresses += count
                if not column.has_more and rank(status) < rank("unsubscribed"):
                    column.values[" ".join(cell.split())[:LONGEST_SHOWN]] += count
                    column.has_more = len(column.values) > MOST_VALUES
            if len(self._known[place]) > MOST_SORTS:
                column.is_text = True
                self._known[place].clear()


def _sort_of_text(cell: str) -> str:
    """Sort a cell without a word of leaving."""
    if not cell or cell.isspace():
        return "nothing"
    return "day" if _DIGIT.search(cell) and is_day(cell.strip()) else "other"


def leaving_among(cells: Sequence[str]) -> dict[str, str]:
    """Return the statuses of texts that mean no mail, ignoring addresses."""
    texts = [cell for cell in cells if " " in cell or "@" not in cell]
    whole = "\n".join(texts)
    is_ascii = whole.isascii()
    if not is_ascii:
        # Beginnings in other scripts.
        others = [each for each in _OTHER_SCRIPTS if each in whole.casefold()]
        whole = unicodedata.normalize("NFKD", whole).encode("ascii", "ignore").decode()
    tokens = set(whole.lower().translate(_SIGNS).split())
    beginnings = _BEGINNINGS if tokens.isdisjoint(_NEGATIONS) else _BEGINNINGS | _NEGATED
    hints = [each for each in tokens if each[:4] in beginnings and each not in _COMMON]
    if not is_ascii:
        hints += others
    if not hints:
        return {}
    return {
        cell: status
        for cell in set(texts)
        if (not cell.isascii() or any(hint in cell.lower() for hint in hints))
        and (status := leaving_word(_ADDRESS.sub(" ", cell)))
    }
