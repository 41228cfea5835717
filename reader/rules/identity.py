"""IndieAuth URLs, and PKCE.

https://indieauth.spec.indieweb.org, living standard of 2024-07-11.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Collection
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from common.refused import Refused
from common.text import one_line

LONGEST_IDENTITY = 500
LONGEST_RETURN = 2_000
# The user's own machine (§3.3).
LOOPBACK = frozenset({"127.0.0.1", "::1"})
# These run code in the browser, or open files.
_NEVER = frozenset({"javascript", "data", "vbscript", "file", "blob", "about", "view-source", "filesystem"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,60}", re.ASCII)
_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+", re.ASCII)
# RFC 7636 §4.1 and §4.2.
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}|[0-9a-f]{64}", re.ASCII)


def profile_url(text: str, *, trial: bool = False) -> str:
    """Return the canonical profile URL (§3.2). Raises Refused.

    If this site is on a loopback address, it may have http, a port or an IP address.
    """
    text = one_line(text)
    parts = _split(text if "://" in text else f"https://{text}", "me", "the address of your site")
    if not trial:
        if parts.scheme != "https":
            raise Refused("The address must start with https://, so that nobody can impersonate you.", "me")
        if parts.port is not None or _is_ip(parts.hostname or ""):
            raise Refused("Enter your site’s name without a port.", "me")
    return _written(parts)


def same_profile(one: str, other: str) -> bool:
    """Compare profile URLs (§3.4)."""
    try:
        return _written(urlsplit(one)) == _written(urlsplit(other))
    except ValueError:
        return False


def client_id_of(text: str) -> str:
    """Validate a client_id (§3.3). Raises Refused."""
    parts = _split(text, "client_id", "the client’s client_id")
    host = parts.hostname or ""
    if _is_ip(host) and host not in LOOPBACK:
        raise Refused("The client_id must use a host name, not an IP address.", "client_id")
    if not parts.path:
        raise Refused("The client_id needs a path. Add at least a slash.", "client_id")
    return text


def is_on_loopback(url: str) -> bool:
    return urlsplit(url).hostname in LOOPBACK


def may_return_to(redirect_uri: str, client_id: str, listed: Collection[str]) -> bool:
    """Return whether it has the client's origin or is listed by it (§4.2.2)."""
    if origin_of(redirect_uri) is None:
        return False
    return redirect_uri in listed or origin_of(redirect_uri) == origin_of(client_id)


def origin_of(url: str) -> str | None:
    """Return an origin as browsers compare it, or an app's `scheme:`; None if invalid."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if not _is_plain(url) or len(url) > LONGEST_RETURN or parts.fragment or parts.scheme in _NEVER:
        return None
    if parts.scheme not in ("http", "https"):
        return f"{parts.scheme}:" if _SCHEME.fullmatch(parts.scheme) else None
    if not _HOST.fullmatch(host) or parts.username is not None:
        return None
    name = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{name}" + (f":{port}" if port not in (None, usual) else "")


def is_challenge(text: str) -> bool:
    return bool(_CHALLENGE.fullmatch(text))


def challenge_of(verifier: str) -> str:
    """Use S256 (RFC 7636 §4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def proves(verifier: str, challenge: str) -> bool:
    """The JavaScript library indieauth-helper writes the challenge in hex."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    in_hex = sha256(verifier.encode()).hexdigest()
    return compare_digest(in_hex if len(challenge) == len(in_hex) else challenge_of(verifier), challenge)


def _split(url: str, field: str, what: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_sound = parts.port != 0
    except ValueError:
        is_sound = False
    if (
        not is_sound
        or parts.scheme not in ("http", "https")
        or not _HOST.fullmatch(parts.hostname or "")
        or not _is_plain(url)
        or len(url) > LONGEST_IDENTITY
    ):
        raise Refused(f"This can’t be {what}. Use an address like https://example.org/.", field)
    if parts.username is not None or "#" in url or {".", ".."} & set(parts.path.split("/")):
        raise Refused(f"{what} can’t contain a user name, a # or dots as folders.", field)
    return parts


def _is_plain(url: str) -> bool:
    return url == one_line(url) and " " not in url


def _written(parts: SplitResult) -> str:
    user, _, place = parts.netloc.rpartition("@")
    netloc = f"{user}@{place.lower()}" if user else place.lower()
    return urlunsplit((parts.scheme.lower(), netloc, parts.path or "/", parts.query, ""))


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
