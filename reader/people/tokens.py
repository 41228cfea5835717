"""Keys for clients: making and recognising them."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from common.refused import Refused
from common.text import one_line
from reader.models import Reader, Token
from reader.rules.scopes import SCOPES

A_MINUTE = timedelta(minutes=1)
LONGEST_CLIENT = 200
PREFIX = "flr_"


def make_token(
    *,
    reader: Reader,
    client: str,
    now: datetime,
    scopes: Iterable[str] = SCOPES,
    source_as_object: bool = False,
) -> tuple[Token, str]:
    """The token and its key, which is not stored: show it once. Raises Refused."""
    client, wanted = one_line(client), set(scopes)
    if not 1 <= len(client) <= LONGEST_CLIENT:
        raise Refused(f"Say what uses it, in at most {LONGEST_CLIENT} characters.", "client")
    if unknown := wanted - set(SCOPES):
        raise Refused(f"There is no scope {', '.join(sorted(unknown))}.", "scopes")
    key = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(
        reader=reader,
        client=client,
        digest=digest_of(key),
        scopes=[scope for scope in SCOPES if scope in wanted],
        source_as_object=source_as_object,
        made_at=now,
    )
    return token, key


def token_of(*, key: str, now: datetime) -> Token | None:
    """The token whose key this is, unless it was revoked. Notes that it was used, at most once a minute."""
    rows = Token.objects.select_related("reader__user").filter(revoked_at=None)
    token = rows.filter(digest=digest_of(key)).first()
    if token is None:
        return None
    if token.last_used_at is None or now - token.last_used_at >= A_MINUTE:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def revoke_token(*, token: Token, now: datetime) -> Token:
    """From now on its key opens nothing. A second time changes nothing."""
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
    token.refresh_from_db()
    return token


def digest_of(key: str) -> str:
    """What is stored of a key: hex SHA-256. (Not a slow hash: our keys are long and random.)"""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
