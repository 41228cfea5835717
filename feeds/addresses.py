import re
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

from common.text import one_line

MAX_FEED_URL = 4000
MAX_HOST = 253  # RFC 1035 §2.3.4, without the root's dot
_PORTS = {"http": 80, "https": 443}
# Before or instead of another scheme.
_FEED_SCHEME = re.compile(
    r"(?:feeds?|pcast|podcast|itpc|itms-pcast|rss):(?:(?://)?(?=https?://)|(?=//))", re.IGNORECASE
)
NO_ADDRESS = "Give an address that begins with http:// or https://."


def without_feed_scheme(url: str) -> str:
    """Remove feed: and the like, keeping // if there is no other scheme."""
    url = url.strip()
    return url[match.end() :] if (match := _FEED_SCHEME.match(url)) else url


def listed_address(url: str) -> str:
    """Use http if it has only feed: or the like. Servers redirect to https."""
    bare = without_feed_scheme(url)
    return f"http:{bare}" if bare.startswith("//") else bare


def checked_url(url: str) -> str:
    """Raise ValidationError."""
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
    """Return the lower-case host, with an unusual port, or ""."""
    try:
        parts = urlsplit(url)
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, _PORTS.get(parts.scheme)) else f"{name}:{port}"


def same_address(url: str) -> str:
    """Return host, path and query, equal for addresses of one feed.

    Without the scheme: feeds move to https, and lists of feeds are old.
    """
    parts = urlsplit(url)
    return f"{host_of_url(url)}{parts.path.rstrip('/') or '/'}?{parts.query}"
