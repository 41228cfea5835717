"""Passwords for apps.

An app exchanges its password for a key. The key is a MAC, so it is not stored, and ends with its password.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import ngettext

from common.rates import HOUR, Limit, count_within, is_reached
from common.refused import Refused, TranslatedRefusal
from common.signing import is_stamp, stamp
from common.text import one_line
from reader.channels.channels import name_of_at_most
from reader.models import AppPassword, Reader, Token
from reader.people.readers import reading
from reader.rules.parameters import GRANTABLE, SCOPES, known_scopes

LONGEST_APP = 100
MAX_APP_PASSWORDS = 100
# Easy to type on phones: no similar letters. 99 bits.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS, LETTERS_A_GROUP = 4, 5
# Per name: from a network, and from everywhere.
WRONG_FROM_A_NETWORK, WRONG_FOR_A_NAME = Limit("app-wrong-from", 10, HOUR), Limit("app-wrong", 200, HOUR)
KEYS_OF_APPS = "reader.app"
# Of Google Reader's tokens; some apps check it.
TOKEN_CHARACTERS = 57
_KEY = re.compile(r"(?:[a-z0-9-]{1,40}/|0*)([1-9][0-9]{0,17})\.([0-9a-f]{32})", re.ASCII)
A_MINUTE = timedelta(minutes=1)
# IndieAuth tokens expire when unused; those made by hand don't.
IDLE = timedelta(days=90)
LONGEST_CLIENT = 200
PREFIX = "flr_"
AnyKey = TypeVar("AnyKey", Token, AppPassword)


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
    return reading(me=me) if me else None


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
    if token and (token.last_used_at is None or now - token.last_used_at >= A_MINUTE):
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


def revoke(row: AnyKey, *, now: datetime) -> AnyKey:
    type(row).objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=now)
    row.refresh_from_db()
    return row


def new_key() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class TooManyWrong(Refused):
    pass


def make_app_password(*, reader: Reader, app: str, now: datetime) -> tuple[AppPassword, str]:
    """The text is not stored. Raises Refused."""
    app = one_line(app)
    if not 1 <= len(app) <= LONGEST_APP:
        raise TranslatedRefusal(name_of_at_most(LONGEST_APP), "app")
    if active(reader).count() >= MAX_APP_PASSWORDS:
        words = ngettext(
            "You can have at most %(most)s password. Revoke it first.",
            "You can have at most %(most)s passwords. Revoke one first.",
            MAX_APP_PASSWORDS,
        )
        raise TranslatedRefusal(words % {"most": MAX_APP_PASSWORDS}, "app")
    groups = ("".join(secrets.choice(LETTERS) for _ in range(LETTERS_A_GROUP)) for _ in range(GROUPS))
    password = "-".join(groups)
    row = AppPassword.objects.create(reader=reader, app=app, digest=_digest(password), made_at=now)
    return row, password


def sign_in(*, name: str, password: str, ip: str) -> AppPassword | None:
    """Return the matching password. Raises TooManyWrong."""
    slug = name.strip().lower()[:40]
    # Cache keys must not contain arbitrary names.
    who = digest_of(slug)[:32]
    uses = [*WRONG_FROM_A_NETWORK.by_network(ip, who), (WRONG_FOR_A_NAME, who)]
    if is_reached(*uses):
        raise TooManyWrong("Too many wrong passwords. Try again in an hour.", "Passwd")
    rows = AppPassword.objects.select_related("reader__user").filter(revoked_at=None, reader__slug=slug)
    row = rows.filter(digest=_digest(password)).first()
    if row is None:
        count_within(*uses)
    return row


def key_for(password: AppPassword) -> str:
    return f"{password.reader.slug}/{password.pk}.{stamp(KEYS_OF_APPS, _stamped(password))}"


def token_for(password: AppPassword) -> str:
    """Return a Google Reader token, which apps send in POSTs."""
    return f"{password.pk}.{stamp(KEYS_OF_APPS, _stamped(password))}".rjust(TOKEN_CHARACTERS, "0")


def password_of(*, key: str, now: datetime) -> AppPassword | None:
    """Record its use by the minute."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    rows = AppPassword.objects.select_related("reader__user").filter(revoked_at=None)
    row = rows.filter(pk=int(match[1])).first()
    if row is None or not is_stamp(KEYS_OF_APPS, _stamped(row), match[2]):
        return None
    if row.last_used_at is None or now - row.last_used_at >= A_MINUTE:
        AppPassword.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def active(reader: Reader) -> "QuerySet[AppPassword]":
    return AppPassword.objects.filter(reader=reader, revoked_at=None)


def _stamped(password: AppPassword) -> str:
    return f"{password.pk} {password.digest}"


def _digest(password: str) -> str:
    """Ignore case, blanks and hyphens."""
    return digest_of("".join(char for char in password.lower() if char in LETTERS))
