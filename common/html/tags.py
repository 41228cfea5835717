"""The tags of html that nh3 wrote: regular enough to be read by a pattern."""

import re
from html import escape, unescape
from urllib.parse import urljoin, urlsplit

# nh3 escapes quotes and angle brackets within a value.
VALUES = r'(?: [^\s=">]+="[^"]*")*'
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


def resolved(url: str, base: str) -> str:
    """The http(s) address that `url` means on a page at `base`; "" when it means none."""
    try:
        address = urljoin(base, url.strip())
    except ValueError:
        return ""
    return address.replace(" ", "%20") if scheme(address) in ("http", "https") else ""
