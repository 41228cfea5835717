"""The address of a server, as people type it, made the same for all. Pure."""

import ipaddress
import re
from urllib.parse import urlsplit

# RFC 1035 §2.3.4, written without the final dot.
MAX_HOST = 253
LONGEST_URL = 2_000
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
EXAMPLE = "Give it as https://{}."


def server_url(typed: str, *, example: str) -> str:
    """`https://host[:port]` of a URL or a bare host. Raises ValueError with a sentence.

    `example` is such a host, for people.
    """
    text, how = typed.strip(), EXAMPLE.format(example)
    try:
        if not text.isprintable():
            raise ValueError(text)
        parts = urlsplit(text if "://" in text else f"https://{text}")
        scheme, port = parts.scheme.lower(), parts.port
        host = parts.hostname or ""
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host)}]"
        else:
            host = (host if host.isascii() else host.encode("idna").decode()).lower().rstrip(".")
            if len(host) > MAX_HOST or not _HOST.fullmatch(host):
                raise ValueError(host)
    except ValueError:
        raise ValueError(f"“{text[:100]}” is no web address. {how}") from None
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(f"“{text[:100]}” says more than the server. {how}")
    if scheme != "https" and not (scheme == "http" and _is_loopback(host)):
        raise ValueError(f"it has to begin with https://, “{text[:100]}” does not.")
    usual_port = 443 if scheme == "https" else 80
    return f"{scheme}://{host}" + (f":{port}" if port not in (None, usual_port) else "")


def _is_loopback(host: str) -> bool:
    """Whether it is this machine: nowhere else may a token travel in the clear."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
