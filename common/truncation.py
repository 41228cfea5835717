"""Makes a short text fit a service's limit, counted as the service counts. Pure."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import grapheme

ELLIPSIS = "…"
# A grapheme may hold any number of code points: no more than so many times the limit are looked at.
CODE_POINTS_PER_GRAPHEME = 16
# From this length on a word is cut inside: some scripts have no spaces.
LONG_WORD = 30

_LINK = re.compile(
    r"https?://(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#](?:[!-~]*[\w/=&#+-])?)?", re.IGNORECASE | re.ASCII
)
_REMOTE_MENTION = re.compile(r"(?<![\w/])(@[a-z0-9_]+)@[a-z0-9.-]+[a-z0-9]+", re.IGNORECASE | re.ASCII)
# Embeddings, overrides and isolates turn around what follows them, our own words included.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class DoesNotFit(ValueError):
    """The parts that may not be cut are longer than the limit by themselves."""


@dataclass(frozen=True, slots=True)
class LengthLimits:
    """In graphemes. `per_url` is the price of a link of any length; None counts links as they are."""

    characters: int
    per_url: int | None = None


@dataclass(frozen=True, slots=True)
class FittingPart:
    """A piece of a text. It is kept whole unless it is `cuttable`."""

    text: str
    cuttable: bool = False


def plain_line(text: str) -> str:
    """The text on one line, without control characters, lone surrogates and direction overrides."""
    kept = (" " if char in "\t\n\v\f\r\x85" else char for char in text)
    usable = (char for char in kept if unicodedata.category(char) not in ("Cc", "Cs") and char not in _BIDI)
    return " ".join("".join(usable).split())


def text_length(text: str, limits: LengthLimits) -> int:
    """Graphemes of the text, a link at its fixed price, `@user@host` as `@user` (as Mastodon counts)."""
    if limits.per_url is not None:
        text = _REMOTE_MENTION.sub(r"\1", _LINK.sub("x" * limits.per_url, text))
    return int(grapheme.length(text))


def fit_parts(parts: Sequence[FittingPart], limits: LengthLimits) -> str:
    """The parts joined, the longest cuttable ones shortened at a word until the whole fits.

    Links inside a cuttable part go whole or stay whole. Raises DoesNotFit.
    """
    pieces = [_bounded(part, limits) for part in parts]
    cuttable = [index for index, piece in enumerate(pieces) if piece.cuttable]
    for index in sorted(cuttable, key=lambda index: len(pieces[index].text), reverse=True):
        if _joined_count(pieces, limits) <= limits.characters:
            break
        pieces[index] = replace(pieces[index], text=_shortened(pieces, index, limits))
    if _joined_count(pieces, limits) > limits.characters:
        raise DoesNotFit(f"The text does not fit into {limits.characters} characters.")
    return "".join(piece.text for piece in pieces)


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


def _bounded(part: FittingPart, limits: LengthLimits) -> FittingPart:
    most = limits.characters * CODE_POINTS_PER_GRAPHEME
    if not part.cuttable or len(part.text) <= most:
        return part
    whole, _, broken = part.text[:most].rpartition(" ")
    return replace(part, text=_ended(whole if "://" in broken else part.text[:most]))


def _joined_count(parts: Sequence[FittingPart], limits: LengthLimits) -> int:
    return text_length("".join(part.text for part in parts), limits)


def _shortened(parts: Sequence[FittingPart], index: int, limits: LengthLimits) -> str:
    before = "".join(part.text for part in parts[:index])
    after = "".join(part.text for part in parts[index + 1 :])
    return cut_at_word(
        parts[index].text, lambda text: text_length(before + text + after, limits) <= limits.characters
    )
