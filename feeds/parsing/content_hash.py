"""Whether a post still says the same: a digest over what it means, not over when or where it stands."""

import hashlib
import json
from collections.abc import Iterable

from feeds.parsing.entry import Entry
from feeds.parsing.tracking import untracked

VERSION = "2"


def content_hash(entry: Entry) -> str:
    """ "2:" and the hex SHA-256 over title, authors, link, content, summary, media and categories.

    Left out is what changes without a difference: dates, tracking parameters of addresses anywhere in it,
    how much white space there is, and a name that is said twice.
    """
    content, summary = _html(entry.content), _html(entry.summary)
    heading = [
        _text(entry.title),
        _each(entry.authors),
        untracked(entry.link),
        [(untracked(medium.url), medium.type, medium.length, _text(medium.alt)) for medium in entry.media],
        _each(entry.categories),
        # Where the one ends and the other begins.
        len(content),
    ]
    written = f"{json.dumps(heading)}\n{content}{summary}"
    # A lone surrogate has its form, too.
    return f"{VERSION}:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _text(text: str) -> str:
    return " ".join(text.split())


def _html(html: str) -> str:
    return _text(untracked(html)).replace("> <", "><")


def _each(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(_text, names)))
