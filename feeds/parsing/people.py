"""Names of authors, without mail addresses, which must not be published."""

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from common.html.titles import plain_title
from common.text import shortened

MAX_PERSON = 1_000
MAX_LISTED_NAME = 200
MAX_LISTED = 50

_END = r"\s<>(),;:\"\[\]"
# @ada@social.example is no address.
_ADDRESS = re.compile(
    rf"(?<![^{_END}])[^@{_END}]{{1,100}}@(?:localhost\b|(?:[\w-]{{1,63}}\.){{1,10}}[\w-]{{2,63}})"
)
_MAILTO = re.compile(r"\bmailto:|\?subject=[^\s<>()]*", re.IGNORECASE)
# "ada@example.org (Ada Lee (she))"
_COMMENT = re.compile(r"\s*\(((?:[^()]|\([^()]*\))*)\)")
_AROUND = " \t\r\n.,;:&|/<>[]\"'-–—"
_JOINER = re.compile(r"(?:and|und|et|y|e)\s+")


def mailboxes(text: str) -> list[tuple[str, str]]:
    """Return (name, mail address) pairs.

    `ada@example.org (Ada)`, `Ada <ada@example.org>`, `Ada (ada@example.org)`, and lists.
    """
    text = text[:MAX_PERSON]
    if "@" not in text:
        return [(text.strip(), "")]
    text = _MAILTO.sub("", html.unescape(text))
    addresses = _ADDRESS.findall(text)
    if not addresses:
        return [(text.strip(), "")]
    first, *others = _ADDRESS.split(text)
    if not _name(first):
        return [(_name(after), address) for address, after in zip(addresses, others, strict=True)]
    names = [_name(first), *(_JOINER.sub("", _name(part), count=1) for part in others)]
    pairs = zip(names, [*addresses, ""], strict=True)
    return [(name, address) for name, address in pairs if name or address]


def _name(part: str) -> str:
    part = part.strip(_AROUND)
    if comment := _COMMENT.match(part):
        return comment[1].strip(_AROUND)
    return part.lstrip(")").rstrip("(").strip(_AROUND)


def author_names(texts: Iterable[str]) -> tuple[str, ...]:
    first, *others = [_names_in(text[:MAX_PERSON]) for text in texts] or [()]
    return listed(chain(first, *others)) if others else first


@lru_cache(maxsize=1_000)
def _names_in(text: str) -> tuple[str, ...]:
    return listed(name for name, _ in mailboxes(text))


def listed(texts: Iterable[object]) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for one in texts:
        text = shortened(plain_title(str(one or "")), MAX_LISTED_NAME)
        if text:
            names.setdefault(text.casefold(), text)
        if len(names) >= MAX_LISTED:
            break
    return tuple(names.values())
