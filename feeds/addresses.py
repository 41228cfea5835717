"""Addresses of feeds: what may be one, its host, and how two of them are compared."""

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

from common.text import one_line

MAX_FEED_URL = 4000
MAX_HOST = 253  # RFC 1035, 2.3.4, without the root's dot
_PORTS = {"http": 80, "https": 443}
NO_ADDRESS = "Give an address that begins with http:// or https://."


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
