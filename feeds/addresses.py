"""Addresses of feeds: what may be one, its host, and how two of them are compared."""

import re
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

from common.text import one_line

MAX_FEED_URL = 4000
MAX_HOST = 253  # RFC 1035, 2.3.4, without the root's dot
_PORTS = {"http": 80, "https": 443}
# Schemes by which programs hand feeds on to each other, before another scheme or in the place of one.
_FEED_SCHEME = re.compile(
    r"(?:feeds?|pcast|podcast|itpc|itms-pcast|rss):(?:(?://)?(?=https?://)|(?=//))", re.IGNORECASE
)
NO_ADDRESS = "Give an address that begins with http:// or https://."


def without_feed_scheme(url: str) -> str:
    """Return the address without feed: and the like; with // where it names no other scheme."""
    url = url.strip()
    return url[match.end() :] if (match := _FEED_SCHEME.match(url)) else url


def listed_address(url: str) -> str:
    """Return an address of a list of feeds, over http where it names only feed: or the like.

    Nothing is asked of the network here. Servers lead from http to https where they have it.
    """
    bare = without_feed_scheme(url)
    return f"http:{bare}" if bare.startswith("//") else bare


def checked_url(url: str) -> str:
    """The address, trimmed. Raises ValidationError for what cannot be a feed's address."""
    url = url.strip()
    if not is_address(url):
        raise ValidationError({"url": NO_ADDRESS})
    return url


def is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        good = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return (
        good and len(url) <= MAX_FEED_URL and len(parts.hostname or "") <= MAX_HOST and url == one_line(url)
    )


def host_of_url(url: str) -> str:
    """Where an address is asked for: the host's name in small letters, with the port if it is not the usual.

    "" for what is no address.
    """
    try:
        parts = urlsplit(url)
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, _PORTS.get(parts.scheme)) else f"{name}:{port}"


def same_address(url: str) -> str:
    """What two addresses have in common that lead to the same feed: host, path and query.

    Not the scheme: feeds move to https, and lists of feeds are old.
    """
    parts = urlsplit(url)
    return f"{host_of_url(url)}{parts.path.rstrip('/') or '/'}?{parts.query}"
