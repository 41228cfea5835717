import base64
import json
import re
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

PURPOSE = b"feedletter.secrets.v1"
# A base64 Fernet token: version 0x80 and a time with two leading zero bytes.
TOKEN = re.compile(r"gAAA[A-Za-z0-9_-]{90,}={0,2}", re.ASCII)
UNREADABLE = "A stored secret is unreadable: SECRET_KEY has changed. Add the old one to SECRET_KEY_FALLBACKS."


@lru_cache(maxsize=4)
def _keys(*secrets: str) -> MultiFernet:
    keys = [
        HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret.encode())
        for secret in secrets
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])


def _cipher() -> MultiFernet:
    return _keys(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def encrypt(values: dict[str, str]) -> str:
    return _cipher().encrypt(json.dumps(values, sort_keys=True).encode()).decode()


def decrypt(token: str) -> dict[str, str]:
    """Raises ValueError if no key made the token."""
    try:
        return dict(json.loads(_cipher().decrypt(token.encode())))
    except InvalidToken as error:
        raise ValueError(UNREADABLE) from error


def rotated(token: str) -> str:
    """Encrypt with SECRET_KEY, unless it is. Raises ValueError if no key reads it."""
    try:
        _keys(settings.SECRET_KEY).decrypt(token.encode())
    except InvalidToken:
        try:
            return _cipher().rotate(token.encode()).decode()
        except InvalidToken as error:
            raise ValueError(UNREADABLE) from error
    return token


class SecretsField(models.TextField):  # type: ignore[type-arg]
    """Dict of strings, encrypted with a key derived from SECRET_KEY; {} is stored as ""."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", dict)
        kwargs.setdefault("blank", True)
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def from_db_value(self, value: str | None, *_: Any) -> "Sealed":
        return Sealed(value or "")

    def get_prep_value(self, value: Any) -> str:
        if isinstance(value, Sealed):
            return value.token
        return encrypt(value) if value else ""

    def to_python(self, value: Any) -> Any:
        """Accept a dict, or the encrypted text of `value_to_string`.

        Encrypting other text would overwrite the secret.
        """
        if not isinstance(value, str):
            return value
        if value and not TOKEN.fullmatch(value):
            raise ValidationError("This is no encrypted secret: dump the data again by this release.")
        return Sealed(value)

    def value_to_string(self, obj: models.Model) -> str:
        return self.get_prep_value(self.value_from_object(obj))


class Sealed:
    """Value that is decrypted on demand and never printed."""

    def __init__(self, token: str) -> None:
        self.token = token

    def open(self) -> dict[str, str]:
        """Raises ValueError."""
        return decrypt(self.token) if self.token else {}

    def __bool__(self) -> bool:
        return bool(self.token)

    def __repr__(self) -> str:
        return "Sealed(…)" if self.token else "Sealed()"


def opened(value: "Sealed | dict[str, str]") -> dict[str, str]:
    return value.open() if isinstance(value, Sealed) else dict(value)
