import re
from functools import partial
from urllib.parse import urldefrag, urlsplit

from common.html.tags import ANY_TAG, VALUES, attributes, text_of

_HEADING = re.compile(rf"<h([1-6]){VALUES}>.*?</h\1>", re.DOTALL)
_LINK = re.compile(rf"\s*<a({VALUES})>((?:(?!</?a[ >]).)*)</a>", re.DOTALL)
_FIRST = re.compile(
    rf"(?P<before>(?:\s*<(?!h[1-6][ >])/?[a-z][a-z0-9]*{VALUES}>)*\s*)"
    rf"<h(?P<level>[12]){VALUES}>(?P<words>.*?)</h(?P=level)>",
    re.DOTALL,
)


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
