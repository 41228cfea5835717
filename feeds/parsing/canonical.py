"""Whether two addresses lead to the same post: what differs without a difference is taken away."""

import hashlib
from urllib.parse import SplitResult, urlsplit

from feeds.parsing.tracking import untracked

_DEFAULT_PORTS = {80, 443}


def canonical(url: str) -> str:
    """The address that stands for all that lead to the same post, for comparing, not for fetching.

    https for http, the host in lower case without a default port, "/" for no path; without fragment and
    tracking parameters. "www." and the order of the other parameters stay. What is no http(s) address
    comes back as it is, without blanks around it; "" for "".
    """
    text = url.strip()
    try:
        parts = urlsplit(text.replace(" ", "%20"))
        host, port = parts.hostname, parts.port
    except ValueError:
        return text
    if parts.scheme not in ("http", "https") or not host:
        return text
    return (
        f"https://{_place(parts, host, port)}{parts.path or '/'}{untracked('?' + parts.query).rstrip('?&')}"
    )


def link_hash(url: str) -> str:
    """32 hex digits that are the same for addresses of the same post; "" for ""."""
    text = canonical(url)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32] if text else ""


def _place(parts: SplitResult, host: str, port: int | None) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    name = f"[{host}]" if ":" in host else host.rstrip(".")
    return f"{user}{at}{name}" + ("" if port is None or port in _DEFAULT_PORTS else f":{port}")
