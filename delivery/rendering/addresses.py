"""Addresses that a letter may link to."""

from urllib.parse import urlsplit


def web_address(url: str) -> str:
    """The address if it is one of the web, else empty."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme.lower() in ("http", "https") and parts.netloc else ""
