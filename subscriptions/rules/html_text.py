"""The text of clean html: what is between its tags, to be looked at or changed. Pure."""

import html as entities
import re
from collections.abc import Callable, Iterator

from common.text import words

# Clean html (common.html.clean) has its values in quotes, and no < or > that is not part of a tag.
_TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>", re.DOTALL)
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)")
_WITHIN_WORDS = words(
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup"
    " tt u var wbr"
)


def visible(html: str) -> str:
    """What a reader sees: the text without tags; where a block begins or ends there is a line end."""
    return "".join(_shown(token, is_tag) for token, is_tag in _tokens(html))


def changed(html: str, change: Callable[[str], str]) -> str:
    """The html with each piece of text between two tags changed; tags and their values stay as they are."""
    return "".join(token if is_tag else _changed(token, change) for token, is_tag in _tokens(html))


def _tokens(html: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for tag in _TAG.finditer(html):
        if tag.start() > at:
            yield html[at : tag.start()], False
        yield tag.group(), True
        at = tag.end()
    if at < len(html):
        yield html[at:], False


def _shown(token: str, is_tag: bool) -> str:
    if not is_tag:
        return entities.unescape(token)
    name = _NAME.match(token)
    return "" if name and name.group(1).lower() in _WITHIN_WORDS else "\n"


def _changed(token: str, change: Callable[[str], str]) -> str:
    before = entities.unescape(token)
    after = change(before)
    return token if after == before else entities.escape(after, quote=False)
