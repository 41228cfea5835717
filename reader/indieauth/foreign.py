"""Tokens issued by a reader's own site."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any

from django.core.cache import cache

from common.net.client import Fetched, FetchError, client
from common.rates import DAY, Limit, count_within
from common.text import one_line, shortened
from reader.indieauth.discovery import MAX_BYTES, SECONDS, Endpoints, endpoints_of, fields_of, json_object
from reader.models import Reader, Token
from reader.people.tokens import LONGEST_CLIENT, PREFIX, digest_of
from reader.rules.identity import LONGEST_IDENTITY, same_profile
from reader.rules.parameters import SCOPES, known_scopes

log = logging.getLogger(__name__)

GOOD_SECONDS, BAD_SECONDS, DOWN_SECONDS = 300, 60, 30
# RFC 6750 §2.1.
_KEY = re.compile(r"[A-Za-z0-9._~+/-]{1,4000}=*", re.ASCII)
# Anybody can make us query that server with made-up tokens.
ASKS = Limit("foreign-asks", 30)
AT_A_TIME = BoundedSemaphore(2)
REFUSED = (400, 401, 403)


class CannotAsk(Exception):
    """Retry after `seconds`."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class OfSomebodyElse(Exception):
    pass


@dataclass(frozen=True, slots=True)
class TokenVerdict:
    """Cached answer. `me` is "" if invalid."""

    me: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()


def foreign_token(*, reader: Reader, key: str, now: datetime) -> Token | None:
    """Return an unsaved Token for one that the reader's site issued (network).

    Asks only the server named when the site was connected. Raises CannotAsk and OfSomebodyElse.
    """
    if (
        reader.verified_at is None
        or not reader.endpoints
        or key.startswith(PREFIX)
        or not _KEY.fullmatch(key)
    ):
        return None
    endpoints = endpoints_of(reader.endpoints)
    digest = digest_of(f"{reader.pk} {reader.verified_at.timestamp()} {key}")
    remembered = f"foreign-verdict-{digest}"
    verdict: TokenVerdict | None = cache.get(remembered)
    if verdict is None:
        # Valid tokens work on while others try made-up ones.
        was_good = f"foreign-good-{digest}"
        if not cache.get(was_good) and not count_within((ASKS, str(reader.pk))):
            raise CannotAsk("Too many tokens of other sites from your network.", 60)
        verdict, seconds = _asked(reader, endpoints, key, now)
        cache.set(remembered, verdict, seconds)
        if verdict.me:
            cache.set(was_good, True, DAY)
    if not verdict.me:
        return None
    if not same_profile(verdict.me, reader.me):
        raise OfSomebodyElse
    return Token(
        reader=reader,
        client=shortened(verdict.client_id, LONGEST_CLIENT) or "another site’s client",
        client_id=verdict.client_id,
        digest=digest,
        scopes=list(verdict.scopes),
    )


def _asked(reader: Reader, endpoints: Endpoints, key: str, now: datetime) -> tuple[TokenVerdict, int]:
    """Return the answer, and seconds to cache it. Raises CannotAsk."""
    down = f"foreign-down-{reader.pk}"
    if cache.get(down):
        raise CannotAsk("The server that issued this token didn’t answer.", DOWN_SECONDS)
    if not AT_A_TIME.acquire(timeout=1):
        raise CannotAsk("Too many tokens are being checked. Try again later.", 1)
    try:
        fields = _fields(endpoints, key)
    except FetchError as error:
        log.info("the server that issued a token did not answer", extra={"reader": reader.slug})
        cache.set(down, True, DOWN_SECONDS)
        raise CannotAsk("The server that issued this token didn’t answer.", DOWN_SECONDS) from error
    finally:
        AT_A_TIME.release()
    return _verdict(fields, now)


def _fields(endpoints: Endpoints, key: str) -> Mapping[str, Any]:
    """Introspect (RFC 7662). If that needs other authorization than the token, ask as before 2022."""
    asked: dict[str, Any] = {
        "headers": {"Accept": "application/json", "Authorization": f"Bearer {key}"},
        "timeout": SECONDS,
        "max_bytes": MAX_BYTES,
    }
    if endpoints.introspection:
        answer = client().request("POST", endpoints.introspection, data={"token": key}, **asked)
        if answer.status not in REFUSED:
            fields: Mapping[str, Any] = json_object(_good(answer).body)
            return fields if _is_yes(fields.get("active")) else {}
    if endpoints.token:
        answer = client().get(endpoints.token, **asked)
        if answer.status not in REFUSED:
            fields = fields_of(_good(answer))
            return fields if _is_yes(fields.get("active", True)) else {}
    return {}


def _is_yes(active: object) -> bool:
    """The standard's examples have strings, and "false" is truthy."""
    return active is True or active == "true"


def _good(answer: Fetched) -> Fetched:
    if answer.status != 200:
        raise FetchError(f"HTTP {answer.status}")
    return answer


def _verdict(said: Mapping[str, Any], now: datetime) -> tuple[TokenVerdict, int]:
    me, seconds = said.get("me"), GOOD_SECONDS
    if "exp" in said:
        end = str(said["exp"])
        left = int(end[:12]) - now.timestamp() if end.isascii() and end.isdigit() else 0
        seconds = min(seconds, int(left))
    if not isinstance(me, str) or not me or seconds <= 0:
        return TokenVerdict(), BAD_SECONDS
    scope = said.get("scope")
    words = scope if isinstance(scope, list) else str(scope or "").split()
    client_id = shortened(one_line(str(said.get("client_id") or "")), LONGEST_IDENTITY)
    # PROFILE alone opens nothing here.
    scopes = tuple(
        one for one in known_scopes(word for word in words if isinstance(word, str)) if one in SCOPES
    )
    return TokenVerdict(me, client_id, scopes), seconds
