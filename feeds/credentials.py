"""Credentials of feeds: encrypted, and sent only to the feed's host."""

import base64
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

from django.core.exceptions import ValidationError

from common.ports.registries import shown_by
from common.secrets import opened
from common.text import words
from feeds.models import Feed

MAX_HEADER_NAME = 100
MAX_VALUE = 2000
# RFC 9110 §5.6.2.
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# RFC 9110 §5.5, without all controls.
_FORBIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
_OURS = words(
    """
    host content-length content-type transfer-encoding connection keep-alive te trailer upgrade expect
    accept accept-encoding if-none-match if-modified-since range user-agent
    proxy-authorization proxy-connection
    """
)


def checked_credentials(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return {"user", "password"}, {"header", "value"} or {}. Raises ValidationError, by part."""
    parts = {name: text for name, text in (given or {}).items() if text}
    if not parts:
        return {}
    if set(parts) <= {"user", "password"}:
        user, password = parts.get("user", ""), parts.get("password", "")
        # RFC 7617 §2.
        if not user or ":" in user or not _is_clean(user):
            raise ValidationError({"user": "Give a user name of at most 2,000 characters, without a colon."})
        if not _is_clean(password):
            raise ValidationError({"password": "Write it on one line, in at most 2,000 characters."})
        return {"user": user, "password": password}
    if not set(parts) <= {"header", "value"}:
        raise ValidationError({"credentials": "Give a user name and password, or a header, not both."})
    name, value = parts.get("header", "").strip(), parts.get("value", "").strip()
    if not _TOKEN.fullmatch(name) or len(name) > MAX_HEADER_NAME:
        raise ValidationError({"header": "Give the header’s name, such as X-Api-Key, without a colon."})
    if name.lower() in _OURS:
        raise ValidationError({"header": f"{name} is part of every request and cannot be set here."})
    if not value or not _is_clean(value):
        raise ValidationError({"value": "Write the header’s value on one line, in at most 2,000 characters."})
    return {"header": name, "value": value}


def _is_clean(text: str) -> bool:
    return len(text) <= MAX_VALUE and not _FORBIDDEN.search(text)


def headers_for(feed: Feed) -> dict[str, str]:
    """Raise ValueError, with a sentence for the admin, if they cannot be decrypted.

    The headers are for this feed's host only.
    """
    try:
        secrets = opened(feed.credentials)
    except ValueError as error:
        raise ValueError(
            "The user name and password of this feed can no longer be decrypted, because SECRET_KEY has"
            " changed. Enter them again, or add the old key to SECRET_KEY_FALLBACKS."
        ) from error
    if "header" in secrets:
        # The client encodes them as Latin-1.
        return {secrets["header"]: secrets["value"].encode().decode("latin-1")}
    if "user" not in secrets:
        return {}
    pair = f"{secrets['user']}:{secrets['password']}".encode()  # RFC 7617 §2.1
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def kind_of(feed: Feed) -> str:
    if not feed.credentials:
        return ""
    try:
        secrets = opened(feed.credentials)
    except ValueError:
        return "something that can no longer be decrypted"
    return f"the header {secrets['header']}" if "header" in secrets else "a user name and password"


def exposure(feed: Feed) -> str:
    """Return a warning if posts of a feed with credentials are public, or ""."""
    names = [name for ask in shown_by for name in ask(feed)] if feed.credentials else []
    if not names:
        return ""
    listed = ", ".join(f"“{name}”" for name in names)
    return (
        f"This feed needs credentials, but its posts are open to others through {listed}."
        " Make that private and closed unless it is meant so."
    )


def split_address(url: str) -> tuple[str, dict[str, str]]:
    """Split off user name and password (RFC 3986 §3.2.1).

    Returns anything else unchanged.
    """
    try:
        parts = urlsplit(url)
        userinfo, at, place = parts.netloc.rpartition("@")
    except ValueError:
        return url, {}
    if not at:
        return url, {}
    user, _, password = userinfo.partition(":")
    bare = urlunsplit(parts._replace(netloc=place))
    return bare, {"user": unquote(user), "password": unquote(password)} if user else {}


def without_secrets(text: str) -> str:
    """Remove user names and passwords from addresses."""
    return re.sub(r"(?<=://)[^/\s?#]*@", "", text)
