import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from common.text import words
from subscriptions.rules.lists.statuses import EMPTY, GETS_NOTHING, leaving_word, rank, sort_of

# Columns with more different cells are texts.
MOST_SORTS = 500
LONGEST_SHOWN = 40
_ADDRESS = re.compile(r"\S+@\S+")
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
    """`sorts`: counts by `statuses.sort_of`, unless `is_text`. `filled`: neither empty nor no.

    `leaving`: lines for which the column means no mail and the line's status is less strict.
    """

    sorts: Counter[str] = field(default_factory=Counter)
    filled: int = 0
    leaving: int = 0
    example: str = ""
    is_text: bool = False

    @property
    def kinds(self) -> set[str]:
        return {sort for sort, count in self.sorts.items() if count and sort != "nothing"}

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "sorts": dict(self.sorts)}

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "ColumnSurvey":
        return cls(**{**value, "sorts": Counter(value["sorts"])})


class Survey:
    """Bounded memory. `places`: columns to count; `texts`: columns to search only."""

    def __init__(
        self, places: Iterable[int], texts: Iterable[int], status_of: Callable[[Sequence[str]], str]
    ) -> None:
        self.columns = {place: ColumnSurvey() for place in places}
        self.columns |= {place: ColumnSurvey(is_text=True) for place in texts}
        self._known: dict[int, dict[str, str]] = {place: {} for place in self.columns}
        self._status_of = status_of

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        for place, column in self.columns.items():
            try:
                cells = [row[place] for row in rows]
            except IndexError:
                cells = [row[place] if place < len(row) else "" for row in rows]
            if column.is_text:
                leaving = leaving_among(cells)
                column.filled += len(cells) - cells.count("")
            else:
                leaving = self._sorted(place, cells)
            if leaving:
                self._count_leaving(column, rows, cells, leaving)

    def _sorted(self, place: int, cells: Sequence[str]) -> dict[str, str]:
        """Return the statuses of cells that mean no mail."""
        column, known, leaving = self.columns[place], self._known[place], {}
        for cell, count in Counter(cells).items():
            sort = known.get(cell)
            if sort is None:
                sort = known[cell] = sort_of(cell)
            column.sorts[sort] += count
            column.filled += 0 if sort in EMPTY else count
            if sort in GETS_NOTHING:
                leaving[cell] = sort
        if len(known) > MOST_SORTS:
            column.is_text = True
            column.sorts.clear()
            known.clear()
        return leaving

    def _count_leaving(
        self,
        column: ColumnSurvey,
        rows: Sequence[Sequence[str]],
        cells: Sequence[str],
        leaving: Mapping[str, str],
    ) -> None:
        for row, cell in zip(rows, cells, strict=True):
            status = leaving.get(cell)
            if status and rank(self._status_of(row)) < rank(status):
                column.leaving += 1
                column.example = column.example or " ".join(cell.split())[:LONGEST_SHOWN]


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
