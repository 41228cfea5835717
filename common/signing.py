"""Tokens in links, each for one purpose.

Signed tokens have a payload and an expiry, and depend on SECRET_KEY. Link tokens derive from a random value
in the row, so links in letters survive a change of SECRET_KEY (RFC 8058 §3.1: opaque, hard to forge). Stamps
authenticate return addresses, where case may be lost.
"""

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.urls import URLPattern, path, re_path, register_converter
from django.urls.converters import StringConverter
from django.utils.translation import gettext, gettext_noop

# URL-safe base64 with dots between parts.
_ALPHABET = r"[A-Za-z0-9_.-]*[A-Za-z0-9_-]"
# Programs include a closing bracket, quote or full stop in links.
_TAIL = r"/?(?:[^A-Za-z0-9_/-][\s\S]*)?"
WITH_TAIL = "_with_tail"
_SEGMENT = re.compile(r"<(\w+)>")
MAX_TOKEN = 1000
LINK_TOKEN = re.compile(r"([1-9][0-9]{0,17})-([0-9a-f]{32})", re.ASCII)
BROKEN = gettext_noop("This link is incomplete. Please open it again from the email, or copy all of it.")
EXPIRED = gettext_noop("This link has expired.")


class TokenError(ValueError):
    """The message is for readers."""


class TokenExpired(TokenError):
    def __init__(self, message: str, payload: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.payload = payload


def _signer(purpose: str) -> Signer:
    return Signer(salt=f"feedletter.{purpose}.v1", sep=".")


def sign(purpose: str, payload: Mapping[str, str | int], *, expires: datetime) -> str:
    """The `payload` is readable."""
    return _signer(purpose).sign_object({**payload, "exp": int(expires.timestamp())})


def read(purpose: str, token: str, *, now: datetime) -> dict[str, Any]:
    """Raises TokenError or TokenExpired."""
    if len(token) > MAX_TOKEN or not token.isascii():
        raise TokenError(gettext(BROKEN))
    try:
        payload: dict[str, Any] = _signer(purpose).unsign_object(token)
    except BadSignature as error:
        raise TokenError(gettext(BROKEN)) from error
    if payload.pop("exp") <= now.timestamp():
        raise TokenExpired(gettext(EXPIRED), payload)
    return payload


def link_token(pk: int, secret: str, purpose: str) -> str:
    """Return `<pk>-<32 hex digits>`, a MAC keyed with the row's random value."""
    return f"{pk}-{mac(secret, f'feedletter.{purpose}.v1:{pk}')}"


def link_pk(token: str) -> int:
    """The key is not verified. Raises TokenError."""
    match = LINK_TOKEN.fullmatch(token)
    if match is None:
        raise TokenError(gettext(BROKEN))
    return int(match[1])


def check_link(token: str, *, secret: str, purpose: str) -> None:
    """Raise TokenError unless the token is valid."""
    if not hmac.compare_digest(token, link_token(link_pk(token), secret, purpose)):
        raise TokenError(gettext(BROKEN))


def stamp(purpose: str, text: str) -> str:
    return _stamp(settings.SECRET_KEY, purpose, text)


def stamps(purpose: str, text: str, keys: Sequence[str] = ()) -> list[str]:
    """Return one for each of SECRET_KEY and its fallbacks, or of other `keys`."""
    keys = keys or secret_keys()
    return [_stamp(key, purpose, text) for key in keys]


def secret_keys() -> list[str]:
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def is_stamp(purpose: str, text: str, given: str) -> bool:
    """Ignore case."""
    if not given.isascii():
        return False
    return any(hmac.compare_digest(each, given.lower()) for each in stamps(purpose, text))


def _stamp(key: str, purpose: str, text: str) -> str:
    return mac(key, f"feedletter.{purpose}.v1:{text}")


def mac(key: str, text: str) -> str:
    """Return 32 hex digits of keyed BLAKE2b (RFC 7693 §2.9).

    Every letter needs four; Python's HMAC would release the GIL for each.
    """
    return blake2b(text.encode(), key=_fitting(key), digest_size=16).hexdigest()


@lru_cache(maxsize=1024)
def _fitting(key: str) -> bytes:
    """BLAKE2b accepts keys of up to 64 bytes."""
    octets = key.encode()
    return octets if len(octets) <= 64 else blake2b(octets).digest()


class TokenConverter(StringConverter):
    regex = _ALPHABET


register_converter(TokenConverter, "link_token")


def token_paths(
    before: str, view: Callable[..., Any], name: str, *, parameter: str = "token"
) -> list[URLPattern]:
    """Return patterns for the exact link and for one with a tail.

    Neither redirects: mail clients do not follow redirects of a one-click POST (RFC 8058).
    """
    segments = _SEGMENT.sub(r"(?P<\1>[^/]+)", before)
    return [
        path(f"{before}<link_token:{parameter}>/", view, name=name),
        re_path(rf"^{segments}(?P<{parameter}>{_ALPHABET}){_TAIL}\Z", view, name=f"{name}{WITH_TAIL}"),
    ]


def without_tail(token: str) -> str:
    return token.strip().rstrip(" <>()[]{}.,;:!?*'\"«»“”’")
