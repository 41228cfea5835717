"""Holes: the places of a form letter that each recipient's values go into."""

import secrets
import string
from collections.abc import Mapping

from delivery.rendering.fields import UnknownField, field_names

_ALPHABET = string.ascii_letters + string.digits


class Holes:
    """A random token for each field of one letter.

    Random, so that no post can contain one; letters and digits only, so that neither escaping nor
    inlining changes it; all of one length, so that none is the beginning of another.
    """

    def __init__(self, params: Mapping[str, str]) -> None:
        self._names = field_names(params)
        prefix = "h" + "".join(secrets.choice(_ALPHABET) for _ in range(20))
        self._tokens = {name: f"{prefix}{number:05d}x" for number, name in enumerate(self._names)}
        self._used: dict[str, str] = {}

    def token(self, field: str) -> str:
        """The token that stands for the field, in any case of letters. Raises UnknownField."""
        name = field.lower()
        if name not in self._tokens:
            raise UnknownField(field, self._names)
        self._used[name] = self._tokens[name]
        return self._tokens[name]

    @property
    def used(self) -> dict[str, str]:
        """The fields that the letter has so far: name in lower case → token."""
        return dict(self._used)
