"""Makes a short text fit what a service takes, whatever it counts. Pure."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import grapheme

ELLIPSIS = "…"
# Of a part that may be cut no more than so many code points are looked at.
MOST_CODE_POINTS = 20_000
# From this length on a word is cut inside: some scripts have no spaces.
LONG_WORD = 30

# Embeddings, overrides and isolates turn around what follows them, our own words included.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class DoesNotFit(ValueError):
    """The parts that may not be cut are longer than the limit by themselves."""


@dataclass(frozen=True, slots=True)
class FittingPart:
    """A piece of a text. It is kept whole unless it is `cuttable`. `link`: where it leads, if anywhere."""

    text: str
    cuttable: bool = False
    link: str = ""


def plain_line(text: str) -> str:
    """The text on one line, without control characters, lone surrogates and direction overrides."""
    kept = (" " if char in "\t\n\v\f\r\x85" else char for char in text)
    usable = (char for char in kept if unicodedata.category(char) not in ("Cc", "Cs") and char not in _BIDI)
    return " ".join("".join(usable).split())


def fit_parts(
    parts: Sequence[FittingPart],
    fits: Callable[[str], bool],
    written: Callable[[FittingPart], str] = lambda part: part.text,
) -> str:
    """The parts joined, the longest cuttable ones shortened at a word until `fits` says yes to the whole.

    Links inside a cuttable part go whole or stay whole. `fits` must refuse every text that is longer than one
    that it refused; it is asked about the parts as they are `written`, in a service's markup for example.
    Raises DoesNotFit.
    """
    return "".join(map(written, fitted(parts, lambda pieces: fits("".join(map(written, pieces))))))


def fitted(parts: Sequence[FittingPart], fits: Callable[[Sequence[FittingPart]], bool]) -> list[FittingPart]:
    """As fit_parts: the parts as they were shortened, for a service that counts what it shows of them."""
    pieces = [_bounded(part) for part in parts]
    cuttable = [index for index, piece in enumerate(pieces) if piece.cuttable]
    for index in sorted(cuttable, key=lambda index: len(pieces[index].text), reverse=True):
        if fits(pieces):
            break
        pieces[index] = replace(pieces[index], text=_shortened(pieces, index, fits))
    if not fits(pieces):
        raise DoesNotFit("The text does not fit, even with all cut that may be.")
    return pieces


def cut_at_word(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning of the text for which `fits` says yes, with an ellipsis; "" if there is none.

    `fits` must refuse every text that is longer than one that it refused.
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


def _ended(text: str) -> str:
    return text.rstrip(" ,;:.-–—") + ELLIPSIS


def _most(highest: int, works: Callable[[int], bool]) -> int:
    """The highest n ≤ `highest` that works, by halving; 0 if none from 1 on does."""
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
