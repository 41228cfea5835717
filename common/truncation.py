"""Makes a short text fit what a service takes, whatever it counts. Pure."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
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
    """A piece of a text. It is kept whole unless it is `cuttable`. `link`: where it leads, if anywhere.

    An `optional` one is left out where the others leave no room: those of a lower number are put in first, in
    their order, until one has no room.
    """

    text: str
    cuttable: bool = False
    link: str = ""
    optional: int = 0


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
    """The parts joined, the longest cuttable ones shortened at a word until `fits` says yes to the whole;
    optional ones as far as there is room.

    Links inside a cuttable part go whole or stay whole. `fits` must refuse every text that is longer than one
    that it refused; it is asked about the parts as they are `written`, in a service's markup for example.
    Raises DoesNotFit.
    """
    return "".join(map(written, fitted(parts, lambda pieces: fits("".join(map(written, pieces))))))


def fitted(parts: Sequence[FittingPart], fits: Callable[[Sequence[FittingPart]], bool]) -> list[FittingPart]:
    """As fit_parts: the parts as they were shortened, for a service that counts what it shows of them."""
    wanted = [_bounded(part) for part in parts]
    pieces = [replace(piece, text="", link="") if piece.optional else piece for piece in wanted]
    cuttable = [index for index, piece in enumerate(pieces) if piece.cuttable and not piece.optional]
    for index in sorted(cuttable, key=lambda index: len(pieces[index].text), reverse=True):
        if fits(pieces):
            break
        pieces[index] = replace(pieces[index], text=_shortened(pieces, index, fits))
    if not fits(pieces):
        raise DoesNotFit("The text does not fit, even with all cut that may be.")
    _put_in(wanted, pieces, fits)
    return pieces


def _put_in(
    wanted: Sequence[FittingPart], pieces: list[FittingPart], fits: Callable[[Sequence[FittingPart]], bool]
) -> None:
    """Puts the optional ones among `wanted` into their places, as far as there is room."""
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


def packed(first: str, lines: Iterable[str], fits: Callable[[str], bool], *, most: int) -> list[str]:
    """A text and its lines in as few texts as `fits` allows, at most so many; lines beyond are left out.

    Each line fits by itself.
    """
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


def cut_to(text: str, longest: int) -> str:
    """At most so many characters of the text, cut at a word."""
    return cut_at_word(text, lambda part: len(part) <= longest)


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
