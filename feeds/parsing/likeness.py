import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from unicodedata import east_asian_width
from urllib.parse import urlsplit

from common.html.clean import plain
from feeds.parsing.identity import canonical

_ENDING = re.compile(r"(?:/index)?(?:\.(?:html?|php|aspx?))?/*$", re.IGNORECASE)
MAX_COMPARED_TITLE = 300
MAX_COMPARED_TEXT = 10_000
# Scripts without spaces have no words.
PIECE = 4
# With fewer, titles are compared, too.
FEWEST_PIECES = 20
# Others may be from a series.
LONG_TITLE = 20
_AMP = re.compile(r"/amp/*$", re.IGNORECASE)
_SAYS_NOTHING = re.compile(r"(?:ref|amp)(?:=.*)?$|outputtype=amp$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Likeness:
    """Keys for comparison, or "".

    `loose`: address without scheme, "www.", "index", ".html". `place`: its path, which survives moves.
    `fragment` separates posts on one page.
    """

    title: str = ""
    loose: str = ""
    place: str = ""
    fragment: str = ""


UNLIKE = Likeness()


def likeness(title: str, link: str) -> Likeness:
    text = canonical(link)
    title = " ".join(title.split()).casefold()[:MAX_COMPARED_TITLE]
    fragment = link.strip().partition("#")[2]
    if not text.startswith("https://"):
        return Likeness(title, text, "", fragment)
    parts = urlsplit(text)
    path = _ENDING.sub("", parts.path)
    return Likeness(title, f"{parts.netloc.removeprefix('www.')}{path}?{parts.query}", path, fragment)


def copy_hash(link: str) -> str:
    """Return 32 hex digits, equal for addresses at which feeds show one post."""
    loose = likeness("", _AMP.sub("", canonical(link).partition("?")[0])).loose if link.strip() else ""
    query = canonical(link).partition("?")[2].split("&")
    kept = sorted(one for one in query if one and not _SAYS_NOTHING.match(one))
    text = f"{loose}{'&'.join(kept)}"
    return hashlib.sha256(f"copy {text}".encode("utf-8", "surrogatepass")).hexdigest()[:32] if loose else ""


def is_long(title: str) -> bool:
    """Wide letters count twice."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in title) >= LONG_TITLE


def similarity(one: tuple[str, str], other: tuple[str, str]) -> float:
    """Compare (title, html), from 0 to 1."""
    pieces = [_pieces(plain(html[:MAX_COMPARED_TEXT])) for _, html in (one, other)]
    if min(counter.total() for counter in pieces) < FEWEST_PIECES:
        pieces = [_pieces(plain(f"{title} {html[:MAX_COMPARED_TEXT]}")) for title, html in (one, other)]
    first, second = pieces
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _pieces(text: str) -> Counter[str]:
    letters = "".join(char for char in text.casefold() if char.isalnum())
    return Counter(letters[at : at + PIECE] for at in range(max(1, len(letters) - PIECE + 1)) if letters)
