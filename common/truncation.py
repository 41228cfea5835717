import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import grapheme

ELLIPSIS = "…"
# For a cuttable part.
MOST_CODE_POINTS = 20_000
# Longer words are cut: some scripts have no spaces.
LONG_WORD = 30

# They would affect our own words after them.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class DoesNotFit(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class FittingPart:
    """Kept whole unless `cuttable`; `link` is its target.

    `optional` parts are added by number, until one has no room.
    """

    text: str
    cuttable: bool = False
    link: str = ""
    optional: int = 0


def plain_line(text: str) -> str:
    kept = (" " if char in "\t\n\v\f\r\x85" else char for char in text)
    usable = (char for char in kept if unicodedata.category(char) not in ("Cc", "Cs") and char not in _BIDI)
    return " ".join("".join(usable).split())


def fit_parts(
    parts: Sequence[FittingPart],
    fits: Callable[[str], bool],
    written: Callable[[FittingPart], str] = lambda part: part.text,
) -> str:
    """Shorten the longest cuttable parts at words until `fits` accepts the whole.

    Links inside a part are never cut. `fits` gets the parts as `written`, in a service's markup for example;
    if it refuses a text it must refuse longer ones. Raises DoesNotFit.
    """
    return "".join(map(written, fitted(parts, lambda pieces: fits("".join(map(written, pieces))))))


def fitted(parts: Sequence[FittingPart], fits: Callable[[Sequence[FittingPart]], bool]) -> list[FittingPart]:
    wanted = [_bounded(part) for part in parts]
    pieces = [replace(piece, text="", link="") if piece.optional else piece for piece in wanted]
    cuttable = [index for index, piece in enumerate(pieces) if piece.cuttable and not piece.optional]
    for index in sorted(cuttable, key=lambda index: len(pieces[index].text), reverse=True):
        if fits(pieces):
            break
        pieces[index] = replace(pieces[index], text=_shortened(pieces, index, fits))
    if not fits(pieces):
        raise DoesNotFit("The text does not fit, even with all cut that may be.")
    full: set[int] = set()
    for index in sorted(range(len(wanted)), key=lambda index: wanted[index].optional):
        part, left_out = wanted[index], pieces[index]
        if not part.optional or part.optional in full:
            continue
        pieces[index] = part
        if not fits(pieces):
            full.add(part.optional)
            text = _shortened(pieces, index, fits) if part.cuttable else ""
            pieces[index] = replace(part, text=text) if text.strip() else left_out
    return pieces


def packed(first: str, lines: Iterable[str], fits: Callable[[str], bool], *, most: int) -> list[str]:
    """Return at most `most` texts, dropping lines beyond. Each line must fit by itself."""
    texts = [first]
    for line in lines:
        if fits(joined := f"{texts[-1]}\n{line}"):
            texts[-1] = joined
        elif len(texts) < most:
            texts.append(line)
        else:
            break
    return texts


def cut_at_word(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning that `fits` accepts, or "".

    If `fits` refuses a text it must refuse longer ones.
    """
    if fits(text):
        return text
    words = text.split(" ")
    kept = _most(len(words) - 1, lambda n: fits(_ended(" ".join(words[:n]))))
    beginning, word = " ".join(words[:kept]), words[kept]
    if (not beginning or len(word) >= LONG_WORD) and "://" not in word:
        lead = f"{beginning} " if beginning else ""
        clusters = list(grapheme.graphemes(word))
        kept = _most(len(clusters) - 1, lambda n: fits(_ended(lead + "".join(clusters[:n]))))
        beginning = lead + "".join(clusters[:kept]) if kept else beginning
    return _ended(beginning) if beginning else ""


def cut_to(text: str, longest: int) -> str:
    return cut_at_word(text, lambda part: len(part) <= longest)


def _ended(text: str) -> str:
    return text.rstrip(" ,;:.-–—") + ELLIPSIS


def _most(highest: int, works: Callable[[int], bool]) -> int:
    low, high = 0, highest
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if works(middle) else (low, middle - 1)
    return low


def _bounded(part: FittingPart) -> FittingPart:
    if not part.cuttable or len(part.text) <= MOST_CODE_POINTS:
        return part
    whole, _, broken = part.text[:MOST_CODE_POINTS].rpartition(" ")
    return replace(part, text=_ended(whole if "://" in broken else part.text[:MOST_CODE_POINTS]))


def _shortened(
    parts: Sequence[FittingPart], index: int, fits: Callable[[Sequence[FittingPart]], bool]
) -> str:
    before, part, after = parts[:index], parts[index], parts[index + 1 :]
    return cut_at_word(part.text, lambda text: fits([*before, replace(part, text=text), *after]))
