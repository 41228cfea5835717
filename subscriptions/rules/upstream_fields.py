from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from common.refused import Refused

TYPES = {"email", "sms", "mastodon", "bluesky"}
# Fields that identify a type. Bluesky is never guessed.
SIGNS: Mapping[str, Sequence[frozenset[str]]] = {
    "email": (frozenset({"addressPart"}), frozenset({"address"})),
    "mastodon": (frozenset({"name", "instanceUrl"}),),
    "sms": (frozenset({"number"}),),
}


class WrongFields(Refused):
    """The message is for the form's author."""


@dataclass(frozen=True, slots=True)
class UpstreamSignUp:
    """`type` is lower case; `email` and `name` may be empty."""

    newsletter: str
    type: str = "email"
    email: str = ""
    name: str = ""


def read_sign_up(pairs: Iterable[tuple[str, str]]) -> UpstreamSignUp:
    """Raises WrongFields for a contradiction, or if no newsletter is named."""
    fields: dict[str, str] = {}
    for name, value in pairs:
        value = value.strip()
        if value and fields.setdefault(name, value) != value:
            raise WrongFields(f"It says {name[:40]} twice, and not the same.")
    newsletter = fields.get("subscribableName", "")
    if not newsletter:
        raise WrongFields("It does not say which newsletter (subscribableName).")
    given = fields.get("destinationType") or fields.get("type", "")
    if given and given.lower() not in TYPES:
        raise WrongFields(f"It names a destination that there is not: {given[:40]}.")
    guessed = [kind for kind, signs in SIGNS.items() if any(sign <= fields.keys() for sign in signs)]
    if not given and len(guessed) > 1:
        raise WrongFields(f"It names several destinations: {', '.join(guessed)}. Name one.")
    return UpstreamSignUp(
        newsletter,
        given.lower() or (guessed[0] if guessed else "email"),
        _first(fields, "addressPart", "address", "email"),
        _first(fields, "displayNamePart", "displayName", "name"),
    )


def _first(fields: Mapping[str, str], *names: str) -> str:
    return next((fields[name] for name in names if name in fields), "")
