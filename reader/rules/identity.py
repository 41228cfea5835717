"""Addresses that stand for people and for programs, as IndieAuth has them; and PKCE. Pure.

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
# Hosts of client_ids that stand for the person's own machine (§3.3).
LOOPBACK = frozenset({"127.0.0.1", "::1"})
# A redirect to these would run something in the browser, or open a file.
_NEVER = frozenset({"javascript", "data", "vbscript", "file", "blob", "about", "view-source", "filesystem"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,60}", re.ASCII)
_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+", re.ASCII)
# RFC 7636 §4.1 and §4.2.
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}|[0-9a-f]{64}", re.ASCII)


def profile_url(text: str, *, trial: bool = False) -> str:
    """The address that stands for a person, in its one spelling (§3.2). https where no scheme is given.

    In a trial (this site stands on a loopback address) it may have a port, an IP address and http. Raises
    Refused.
    """
    text = one_line(text)
    parts = _split(text if "://" in text else f"https://{text}", "me", "the address of your site")
    if not trial:
        if parts.scheme != "https":
            raise Refused(
                "The address has to begin with https://, else anybody could pretend to be you.", "me"
            )
        if parts.port is not None or _is_ip(parts.hostname or ""):
            raise Refused("Give your site by its name, without a port.", "me")
    return _written(parts)


def same_profile(one: str, other: str) -> bool:
    """Whether two addresses are the same but for the spelling of scheme, host and an empty path (§3.4)."""
    try:
        return _written(urlsplit(one)) == _written(urlsplit(other))
    except ValueError:
        return False


def client_id_of(text: str) -> str:
    """The address that stands for a program, as it was given (§3.3). Raises Refused."""
    parts = _split(text, "client_id", "the client’s client_id")
    host = parts.hostname or ""
    if _is_ip(host) and host not in LOOPBACK:
        raise Refused(
            "The client_id names a machine by its number. It has to name it by its name.", "client_id"
        )
    if not parts.path:
        raise Refused("The client_id has no path. It has to end with a slash at least.", "client_id")
    return text


def is_on_loopback(url: str) -> bool:
    """Whether it leads to the machine of whoever opens it."""
    return urlsplit(url).hostname in LOOPBACK


def may_return_to(redirect_uri: str, client_id: str, listed: Collection[str]) -> bool:
    """Whether a code may be sent there: the client's own place, or what it lists exactly (§4.2.2)."""
    if origin_of(redirect_uri) is None:
        return False
    return redirect_uri in listed or origin_of(redirect_uri) == origin_of(client_id)


def origin_of(url: str) -> str | None:
    """Scheme, host and port as browsers compare them; of an app the scheme (`app:`). None: leads nowhere."""
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
    """Whether it can be a challenge by S256."""
    return bool(_CHALLENGE.fullmatch(text))


def challenge_of(verifier: str) -> str:
    """By S256 (RFC 7636 §4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def proves(verifier: str, challenge: str) -> bool:
    """Whether the challenge was made from this verifier.

    indieauth-helper, a library for clients in JavaScript, writes the same digest in hex.
    """
    if not _VERIFIER.fullmatch(verifier):
        return False
    in_hex = sha256(verifier.encode()).hexdigest()
    return compare_digest(in_hex if len(challenge) == len(in_hex) else challenge_of(verifier), challenge)


def _split(url: str, field: str, what: str) -> SplitResult:
    """An address of the web without the parts that stand for nobody. Raises Refused."""
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
        raise Refused(f"That cannot be {what}. They look like https://example.org/.", field)
    if parts.username is not None or "#" in url or {".", ".."} & set(parts.path.split("/")):
        raise Refused(f"There may be no user name, no # and no dots as folders in {what}.", field)
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
