"""Recognises a post under another id and at another address, even when a whole site moves."""

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
# Texts are compared by pieces of so many letters: scripts without spaces have no words to compare.
PIECE = 4
# Of a shorter text the title is compared, too.
FEWEST_PIECES = 20
# A shorter title may be that of a series.
LONG_TITLE = 20
# Forms of an address, for telephones or to tell a link's origin, under which a page says the same.
_AMP = re.compile(r"/amp/*$", re.IGNORECASE)
_SAYS_NOTHING = re.compile(r"(?:ref|amp)(?:=.*)?$|outputtype=amp$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Likeness:
    """`title` in lower case, with single spaces. Every field may be "".

    `loose` is the address without scheme, "www.", a slash at the end, "index" and ".html". `place` is its
    path alone, which stays when a site moves to another host. `fragment` tells posts of one page apart.
    """

    title: str = ""
    loose: str = ""
    place: str = ""
    fragment: str = ""


UNLIKE = Likeness()


def likeness(title: str, link: str) -> Likeness:
    """The likeness of a post with this title and link."""
    text = canonical(link)
    title = " ".join(title.split()).casefold()[:MAX_COMPARED_TITLE]
    fragment = link.strip().partition("#")[2]
    if not text.startswith("https://"):
        return Likeness(title, text, "", fragment)
    parts = urlsplit(text)
    path = _ENDING.sub("", parts.path)
    return Likeness(title, f"{parts.netloc.removeprefix('www.')}{path}?{parts.query}", path, fragment)


def copy_hash(link: str) -> str:
    """32 hex digits that are the same for the addresses at which several feeds may show one post; or "".

    As `loose`, without `/amp/` and `ref=`, whatever the order of the query.
    """
    loose = likeness("", _AMP.sub("", canonical(link).partition("?")[0])).loose if link.strip() else ""
    query = canonical(link).partition("?")[2].split("&")
    kept = sorted(one for one in query if one and not _SAYS_NOTHING.match(one))
    text = f"{loose}{'&'.join(kept)}"
    return hashlib.sha256(f"copy {text}".encode("utf-8", "surrogatepass")).hexdigest()[:32] if loose else ""


def is_long(title: str) -> bool:
    """Whether a title is long enough to be that of one post alone, in columns: wide letters count twice."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in title) >= LONG_TITLE


def similarity(one: tuple[str, str], other: tuple[str, str]) -> float:
    """How much two posts, each a title and a text in html, have in common: from 0 to 1."""
    pieces = [_pieces(plain(html[:MAX_COMPARED_TEXT])) for _, html in (one, other)]
    if min(counter.total() for counter in pieces) < FEWEST_PIECES:
        pieces = [_pieces(plain(f"{title} {html[:MAX_COMPARED_TEXT]}")) for title, html in (one, other)]
    first, second = pieces
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _pieces(text: str) -> Counter[str]:
    letters = "".join(char for char in text.casefold() if char.isalnum())
    return Counter(letters[at : at + PIECE] for at in range(max(1, len(letters) - PIECE + 1)) if letters)
