import hashlib
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from common.refused import Refused
from common.text import one_line
from reader.models import Reader, Token
from reader.people.readers import may_read
from reader.rules.scopes import GRANTABLE, SCOPES, known_scopes

A_MINUTE = timedelta(minutes=1)
# IndieAuth tokens expire when unused; those made by hand don't.
IDLE = timedelta(days=90)
LONGEST_CLIENT = 200
PREFIX = "flr_"


class TakenSite(Refused):
    pass


def connect_site(*, reader: Reader, me: str, endpoints: Mapping[str, Any], now: datetime) -> None:
    """Another site's token is dropped. Raises TakenSite."""
    changed: dict[str, Any] = {"me": me, "verified_at": now, "endpoints": dict(endpoints)}
    if reader.me != me:
        changed["micropub"] = {}
    try:
        with transaction.atomic():
            Reader.objects.filter(pk=reader.pk).update(**changed)
    except IntegrityError as error:
        raise TakenSite("Someone else here has already connected this site.", "me") from error
    reader.refresh_from_db()


def disconnect_site(*, reader: Reader) -> None:
    """End signing in with the site, and its tokens."""
    Reader.objects.filter(pk=reader.pk).update(me="", verified_at=None, endpoints={}, micropub={})
    reader.refresh_from_db()


def reader_with_site(me: str) -> Reader | None:
    """Return the site's reader, if they may read."""
    reader = Reader.objects.select_related("user").filter(me=me).exclude(me="").first()
    return reader if reader is not None and may_read(reader) else None


def make_token(
    *,
    reader: Reader,
    client: str,
    now: datetime,
    scopes: Iterable[str] = SCOPES,
    source_as_object: bool = False,
    client_id: str = "",
    refresh_digest: str = "",
) -> tuple[Token, str]:
    """Create a token with a key, which is not stored. Raises Refused.

    `client_id` and `refresh_digest` are for IndieAuth.
    """
    client, wanted = one_line(client), set(scopes)
    if not 1 <= len(client) <= LONGEST_CLIENT:
        raise Refused(f"Name the app that uses it, in at most {LONGEST_CLIENT} characters.", "client")
    if unknown := wanted - set(GRANTABLE):
        raise Refused(f"There is no scope {', '.join(sorted(unknown))}.", "scopes")
    key = new_key()
    token = Token.objects.create(
        reader=reader,
        client=client,
        client_id=client_id,
        digest=digest_of(key),
        refresh_digest=refresh_digest,
        scopes=known_scopes(wanted),
        source_as_object=source_as_object,
        made_at=now,
    )
    return token, key


def token_of(*, key: str, now: datetime) -> Token | None:
    """Record its use by the minute."""
    token = known_token(key=key, now=now)
    if token is None:
        return None
    if token.last_used_at is None or now - token.last_used_at >= A_MINUTE:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def live_tokens(reader: Reader, now: datetime) -> QuerySet[Token]:
    begun = Coalesce("last_used_at", "made_at")
    unended = Q(client_id="") | Q(begun__gt=now - IDLE)
    return reader.tokens.filter(revoked_at=None).alias(begun=begun).filter(unended)


def ends_at(token: Token) -> datetime:
    """Return when an IndieAuth token expires unless used."""
    return (token.last_used_at or token.made_at) + IDLE


def known_token(*, key: str, now: datetime) -> Token | None:
    rows = Token.objects.select_related("reader__user").filter(revoked_at=None)
    token = rows.filter(digest=digest_of(key)).first()
    return None if token is None or (token.client_id and now >= ends_at(token)) else token


def revoke_token(*, token: Token, now: datetime) -> Token:
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
    token.refresh_from_db()
    return token


def new_key() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
