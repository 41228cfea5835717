"""Passwords for apps.

An app exchanges its password for a key. The key is a MAC, so it is not stored, and ends with its password.
"""

import re
import secrets
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import ngettext

from common.rates import HOUR, Limit, count_within, is_reached
from common.refused import Refused, TranslatedRefusal
from common.signing import is_stamp, stamp
from common.text import one_line
from reader.channels.channels import name_of_at_most
from reader.models import AppPassword, Reader
from reader.people.tokens import A_MINUTE, digest_of

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


def revoke_app_password(*, password: AppPassword, now: datetime) -> AppPassword:
    AppPassword.objects.filter(pk=password.pk, revoked_at=None).update(revoked_at=now)
    password.refresh_from_db()
    return password


def _stamped(password: AppPassword) -> str:
    return f"{password.pk} {password.digest}"


def _digest(password: str) -> str:
    """Ignore case, blanks and hyphens."""
    return digest_of("".join(char for char in password.lower() if char in LETTERS))
