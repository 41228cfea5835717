"""Where a redirect leads, and whether secrets may go along."""

from urllib.parse import urljoin, urlsplit

import requests

STATUSES = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}


def target_of(response: requests.Response) -> str | None:
    """The absolute address; None when the answer is no redirect. Raises ValueError when it is no address."""
    location = response.headers.get("Location") if response.status_code in STATUSES else None
    # Header values come as Latin-1; servers send UTF-8.
    return urljoin(response.url, location.encode("latin-1").decode("utf-8", "replace")) if location else None


def keeps_secrets(url: str, target: str) -> bool:
    """Whether secrets for `url` may go to `target`: it is the same host, and not http after https."""
    here, there = urlsplit(url), urlsplit(target)
    upgraded = (here.scheme, there.scheme) == ("http", "https") and not (here.port or there.port)
    same_port = (here.port or _PORTS.get(here.scheme)) == (there.port or _PORTS.get(there.scheme))
    return here.hostname == there.hostname and (upgraded or (here.scheme == there.scheme and same_port))
