import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Q

from common.api.permissions import ASSISTANT, TOKEN_SCOPES, WRITE
from common.refused import Refused
from common.text import one_line
from feedletter_site.models import ApiToken
from reader.models import AppPassword, Code, Token

# A double click selects the whole key.
_LETTERS = string.ascii_letters + string.digits
_KEY = re.compile(r"fl_([A-Za-z0-9]{8})_([A-Za-z0-9]{40})")
A_MINUTE = timedelta(minutes=1)
LONGEST_TOKEN_NAME = 100


class BadToken(Refused):
    pass


def make_token(
    *,
    name: str,
    scopes: Iterable[str],
    now: datetime,
    expires_at: datetime | None = None,
    made_by: Any = None,
) -> tuple[ApiToken, str]:
    """Return the token and its key, which is not stored. Raises ValidationError."""
    name, wanted = one_line(name), set(scopes)
    if not 1 <= len(name) <= LONGEST_TOKEN_NAME:
        raise ValidationError({"name": f"Give a name of 1 to {LONGEST_TOKEN_NAME} characters."})
    if unknown := wanted - TOKEN_SCOPES.keys():
        raise ValidationError({"scopes": f"There is no scope {', '.join(sorted(unknown))}."})
    if not wanted:
        raise ValidationError({"scopes": f"Choose at least one of {', '.join(TOKEN_SCOPES)}."})
    if ASSISTANT in wanted and any(scope.endswith(f":{WRITE}") for scope in wanted):
        raise ValidationError({"scopes": "An assistant’s token may only read. Leave out scopes that write."})
    if expires_at is not None and expires_at <= now:
        raise ValidationError({"expires_at": "Choose a time in the future."})
    prefix, secret = _random(8), _random(40)
    key = f"fl_{prefix}_{secret}"
    token = ApiToken.objects.create(
        name=name,
        prefix=prefix,
        digest=_digest(key),
        scopes=[scope for scope in TOKEN_SCOPES if scope in wanted],
        made_by=made_by,
        created_at=now,
        expires_at=expires_at,
    )
    return token, key


def token_of(*, key: str, now: datetime) -> ApiToken:
    """Raise BadToken. Records the use at most once a minute."""
    parts = _KEY.fullmatch(key)
    row = ApiToken.objects.select_related("made_by").filter(prefix=parts[1]).first() if parts else None
    if row is None or not hmac.compare_digest(row.digest, _digest(key)):
        raise BadToken("There is no such token.")
    if why := why_not(row, now=now):
        raise BadToken(why)
    if row.last_used_at is None or now - row.last_used_at >= A_MINUTE:
        long_ago = Q(last_used_at=None) | Q(last_used_at__lte=now - A_MINUTE)
        ApiToken.objects.filter(long_ago, pk=row.pk).update(last_used_at=now)
    return row


def token_for_assistants(prefix: str, *, now: datetime) -> ApiToken:
    """Return a token by the beginning of its key. Raises BadToken."""
    row = ApiToken.objects.select_related("made_by").filter(prefix=prefix.removeprefix("fl_")).first()
    if row is None or ASSISTANT not in row.scopes:
        raise BadToken("No token with the scope assistant begins so. Make one: create_api_token --help")
    if why := why_not(row, now=now):
        raise BadToken(why)
    return row


def why_not(token: ApiToken, *, now: datetime) -> str:
    if token.revoked_at is not None:
        return "This token was revoked."
    if token.expires_at is not None and token.expires_at <= now:
        return "This token has expired."
    maker = token.made_by
    if maker is not None and not (maker.is_active and maker.is_staff):
        return "The account that made this token is no longer active."
    return ""


def end_programs(*, user: User, now: datetime) -> None:
    """Revoke all that programs sign in with as the user."""
    ApiToken.objects.filter(made_by=user, revoked_at=None).update(revoked_at=now)
    Code.objects.filter(reader__user=user).delete()
    for model in (Token, AppPassword):
        model._default_manager.filter(reader__user=user, revoked_at=None).update(revoked_at=now)


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _digest(key: str) -> str:
    # No slow hash is needed: 40 random characters cannot be guessed.
    return hashlib.sha256(key.encode()).hexdigest()
