"""Recognises a post under another id and at another address, even when a whole site moves."""

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from feeds.parsing.identity import canonical

_ENDING = re.compile(r"(?:/index)?(?:\.(?:html?|php|aspx?))?/*$", re.IGNORECASE)
MAX_COMPARED_TITLE = 300
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
