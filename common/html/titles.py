"""Titles and names as one line of text.

RSS does not say whether a title is text or HTML, so only what is markup beyond doubt is removed:
"List<String>" and "The <dialog> element" keep their words.
"""

import html
import re

from common.text import one_line, words

MAX_TITLE = 10_000
# Elements that are markup in a title, if they are closed.
TITLE_ELEMENTS = words("a abbr b cite code em font i mark q s script small span strong style sub sup tt u")
TITLE_VOID = words("br hr img wbr")
_RAW = frozenset(("script", "style"))
# The words before and after one of these are apart.
_APART = words("br dd div dt h1 h2 h3 h4 h5 h6 hr li ol p td th tr ul")

_TITLE_NAMES = "|".join(sorted(TITLE_ELEMENTS | TITLE_VOID - {"hr"}, key=len, reverse=True))
_TITLE_TAG = re.compile(rf"<(/?)({_TITLE_NAMES})((?:\s[^<>]*)?)(/?)>", re.IGNORECASE)
_ANY_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})((?:\s[^<>]*)?)(/?)>")
# Some programs put a title into a paragraph or a heading.
_WHOLE = re.compile(r"\s*<(p|div|h[1-6])(?:\s[^<>]*)?>.*</\1>\s*", re.IGNORECASE | re.DOTALL)
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});", re.ASCII)


def plain_title(text: str, *, is_html: bool = False) -> str:
    """Return a title or name as one line of text, without markup and with its references decoded once.

    Only void and closed elements count as markup: those of TITLE_ELEMENTS, or any if it `is_html`.
    """
    text = text[:MAX_TITLE]
    if "<" in text:
        is_html = is_html or _WHOLE.fullmatch(text) is not None
        text = _without_markup(text, _ANY_TAG if is_html else _TITLE_TAG)
    if "&" in text:
        # "?a=1&copy=2" is an address, not a copyright sign.
        text = html.unescape(text) if is_html else _REFERENCE.sub(lambda ref: html.unescape(ref[0]), text)
    return one_line(text)


def _without_markup(text: str, tag: re.Pattern[str]) -> str:
    tags = list(tag.finditer(text))
    last_ends = {found[2].lower(): number for number, found in enumerate(tags) if found[1]}
    removed: dict[int, int] = {}
    opened: dict[str, list[re.Match[str]]] = {}
    raw = ""
    for number, found in enumerate(tags):
        name, is_end = found[2].lower(), bool(found[1])
        if raw:
            if is_end and name == raw:
                removed[opened[raw].pop().start()], raw = found.end(), ""
        elif name in TITLE_VOID or found[3].endswith("/") or found[4]:
            removed[found.start()] = found.end()
        elif not is_end:
            opened.setdefault(name, []).append(found)
            raw = name if name in _RAW and last_ends.get(name, -1) > number else ""
        elif opened.get(name):
            start = opened[name].pop()
            removed |= {start.start(): start.end(), found.start(): found.end()}
    pieces, position = [], 0
    for found in tags:
        if found.start() in removed and found.start() >= position:
            pieces += [text[position : found.start()], " " if found[2].lower() in _APART else ""]
            position = removed[found.start()]
    return "".join([*pieces, text[position:]])
