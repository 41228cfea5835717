"""The tags of html that nh3 wrote: regular enough to be read by a pattern."""

import re
from html import escape, unescape
from urllib.parse import quote, urljoin, urlsplit

# nh3 escapes quotes and angle brackets within a value.
VALUES = r'(?: [^\s=">]+="[^"]*")*'
_OUTSIDE = "".join(map(chr, range(33)))
_LINE_BREAK = re.compile(r"[\t\n\r]")
_SPACE = re.compile(r"\s")
# The path of an address of the web, in which a backslash means a slash.
_BACKSLASHED = re.compile(r"(?:https?:|[\\/])[^?#]*", re.IGNORECASE)
_ATTRIBUTE = re.compile(r' ([^\s=">]+)="([^"]*)"')


def attributes(text: str) -> dict[str, str]:
    """The attributes of a tag, without entities."""
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def written(values: dict[str, str]) -> str:
    """The inverse of `attributes`."""
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())


def scheme(url: str) -> str | None:
    """The scheme of an address; None when it is none."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() if parts.hostname else None
    except ValueError:
        return None


def mended(url: str) -> str:
    """An address as browsers read it (WHATWG URL §4.4): in one piece, without white space or backslashes."""
    url = _LINE_BREAK.sub("", url.strip(_OUTSIDE))
    if "\\" in url and (path := _BACKSLASHED.match(url)):
        url = path[0].replace("\\", "/") + url[path.end() :]
    return _SPACE.sub(lambda space: quote(space[0]), url)


def resolved(url: str, base: str) -> str:
    """The http(s) address that `url` means on a page at `base`; "" when it means none."""
    try:
        address = urljoin(base, mended(url))
    except ValueError:
        return ""
    return address if scheme(address) in ("http", "https") else ""
