"""Titles and names as one line of text.

RSS does not say whether a title is text or HTML, so only unmistakable markup is removed: "List<String>" and
"The <dialog> element" stay.
"""

import html
import re
from functools import partial
from urllib.parse import urldefrag, urlsplit

from common.html.balance import ANY_TAG, VALUES, attributes, text_of
from common.text import one_line, words

_HEADING = re.compile(rf"<h([1-6]){VALUES}>.*?</h\1>", re.DOTALL)
_LINK = re.compile(rf"\s*<a({VALUES})>((?:(?!</?a[ >]).)*)</a>", re.DOTALL)
_FIRST = re.compile(
    rf"(?P<before>(?:\s*<(?!h[1-6][ >])/?[a-z][a-z0-9]*{VALUES}>)*\s*)"
    rf"<h(?P<level>[12]){VALUES}>(?P<words>.*?)</h(?P=level)>",
    re.DOTALL,
)
MAX_TITLE = 10_000
# Markup in a title, if closed.
TITLE_ELEMENTS = words("a abbr b cite code em font i mark q s script small span strong style sub sup tt u")
TITLE_VOID = words("br hr img wbr")
_RAW = frozenset(("script", "style"))
_APART = words("br dd div dt h1 h2 h3 h4 h5 h6 hr li ol p td th tr ul")
_TITLE_NAMES = "|".join(sorted(TITLE_ELEMENTS | TITLE_VOID - {"hr"}, key=len, reverse=True))
_TITLE_TAG = re.compile(rf"<(/?)({_TITLE_NAMES})((?:\s[^<>]*)?)(/?)>", re.IGNORECASE)
_ANY_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})((?:\s[^<>]*)?)(/?)>")
# Some programs wrap titles in a paragraph or heading.
_WHOLE = re.compile(r"\s*<(p|div|h[1-6])(?:\s[^<>]*)?>.*</\1>\s*", re.IGNORECASE | re.DOTALL)
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});", re.ASCII)


def plain_title(text: str, *, is_html: bool = False) -> str:
    """Remove markup and decode references once.

    Only void and closed elements count as markup: any if `is_html`, else TITLE_ELEMENTS.
    """
    text = text[:MAX_TITLE]
    if "<" in text:
        is_html = is_html or _WHOLE.fullmatch(text) is not None
        text = _without_markup(text, _ANY_TAG if is_html else _TITLE_TAG)
    if "&" in text:
        # "?a=1&copy=2" is an address, not a copyright sign.
        text = html.unescape(text) if is_html else _REFERENCE.sub(lambda ref: html.unescape(ref[0]), text)
    return one_line(text)


def decoded_again(title: str) -> str:
    """Decode references of a title that was escaped once too often."""
    return title if "<" in title else _REFERENCE.sub(lambda ref: html.unescape(ref[0]), title)


def _without_markup(text: str, tag: re.Pattern[str]) -> str:
    tags = list(tag.finditer(text))
    last_ends = {match[2].lower(): number for number, match in enumerate(tags) if match[1]}
    removed: dict[int, int] = {}
    opened: dict[str, list[re.Match[str]]] = {}
    raw = ""
    for number, match in enumerate(tags):
        name, is_end = match[2].lower(), bool(match[1])
        if raw:
            if is_end and name == raw:
                removed[opened[raw].pop().start()], raw = match.end(), ""
        elif name in TITLE_VOID or match[3].endswith("/") or match[4]:
            removed[match.start()] = match.end()
        elif not is_end:
            opened.setdefault(name, []).append(match)
            raw = name if name in _RAW and last_ends.get(name, -1) > number else ""
        elif opened.get(name):
            start = opened[name].pop()
            removed |= {start.start(): start.end(), match.start(): match.end()}
    pieces, position = [], 0
    for match in tags:
        if match.start() in removed and match.start() >= position:
            pieces += [text[position : match.start()], " " if match[2].lower() in _APART else ""]
            position = removed[match.start()]
    return "".join([*pieces, text[position:]])


def without_anchors(html: str, page: str) -> str:
    """Remove in-page links without a letter or digit (¶, #, 🔗) from headings."""
    if "#" not in html or "<h" not in html:
        return html
    return _HEADING.sub(lambda heading: _LINK.sub(partial(_anchor, page=page), heading[0]), html)


def without_title(html: str, title: str) -> str:
    """Remove a first h1 or h2 that repeats the title, unless nothing else is left."""
    if not title or ("<h1" not in html and "<h2" not in html):
        return html
    first = _FIRST.match(html)
    if first is None or _key(text_of(first["words"])) != _key(title) or not _key(title):
        return html
    rest = first["before"] + html[first.end() :]
    return rest if "<img" in rest or ANY_TAG.sub("", rest).strip() else html


def _anchor(link: re.Match[str], page: str) -> str:
    place, fragment = urldefrag(attributes(link[1]).get("href", ""))
    has_words = any(map(str.isalnum, text_of(link[2])))
    is_anchor = fragment and not has_words and "<img" not in link[2] and _is_here(place, page)
    return "" if is_anchor else link[0]


def _is_here(place: str, page: str) -> bool:
    try:
        return not place or urlsplit(place).hostname == urlsplit(page).hostname
    except ValueError:
        return False


def _key(text: str) -> str:
    text = text.casefold()
    return "".join(filter(str.isalnum, text)) or "".join(text.split())
