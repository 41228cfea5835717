"""The fields of upstream's forms: which newsletter, and which destination."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

TYPES = {"email", "sms", "mastodon", "bluesky"}
# Each with the fields that tell it from the others where no type is given. (Bluesky never is guessed.)
SIGNS: Mapping[str, Sequence[frozenset[str]]] = {
    "email": (frozenset({"addressPart"}), frozenset({"address"})),
    "mastodon": (frozenset({"name", "instanceUrl"}),),
    "sms": (frozenset({"number"}),),
}


class WrongFields(ValueError):
    """What was sent cannot be understood. The message is for whoever made the form."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`type` is in lower case; what is not known of an address is empty."""

    newsletter: str
    type: str = "email"
    email: str = ""
    name: str = ""


def asked(pairs: Iterable[tuple[str, str]]) -> Asked:
    """What a form asks for. Raises WrongFields for what contradicts itself, or names no newsletter."""
    fields = _one_each(pairs)
    newsletter = fields.get("subscribableName", "")
    if not newsletter:
        raise WrongFields("It does not say which newsletter (subscribableName).")
    return Asked(
        newsletter,
        _type(fields),
        _first(fields, "addressPart", "address", "email"),
        _first(fields, "displayNamePart", "displayName", "name"),
    )


def _first(fields: Mapping[str, str], *names: str) -> str:
    """Upstream's names for it, then ours: that is what the form has which we show ourselves."""
    return next((fields[name] for name in names if name in fields), "")


def _one_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Trimmed; blank ones do not count."""
    fields: dict[str, str] = {}
    for name, value in pairs:
        value = value.strip()
        if value and fields.setdefault(name, value) != value:
            raise WrongFields(f"It says {name[:40]} twice, and not the same.")
    return fields


def _type(fields: Mapping[str, str]) -> str:
    given = fields.get("destinationType") or fields.get("type", "")
    if given:
        if given.lower() not in TYPES:
            raise WrongFields(f"It names a destination that there is not: {given[:40]}.")
        return given.lower()
    guessed = [kind for kind, signs in SIGNS.items() if any(sign <= fields.keys() for sign in signs)]
    if len(guessed) > 1:
        raise WrongFields(f"It names several destinations: {', '.join(guessed)}. Name one.")
    return guessed[0] if guessed else "email"
