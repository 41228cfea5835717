"""The fields of upstream's forms: which newsletter, and which destination."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from common.refused import Refused

TYPES = {"email", "sms", "mastodon", "bluesky"}
# Each with the fields that tell it from the others where no type is given. Bluesky is never guessed.
SIGNS: Mapping[str, Sequence[frozenset[str]]] = {
    "email": (frozenset({"addressPart"}), frozenset({"address"})),
    "mastodon": (frozenset({"name", "instanceUrl"}),),
    "sms": (frozenset({"number"}),),
}


class WrongFields(Refused):
    """What was sent cannot be understood. The message is for whoever made the form."""


@dataclass(frozen=True, slots=True)
class UpstreamSignUp:
    """What a form asks for. `type` is in lower case; `email` and `name` are empty where it says none."""

    newsletter: str
    type: str = "email"
    email: str = ""
    name: str = ""


def read_sign_up(pairs: Iterable[tuple[str, str]]) -> UpstreamSignUp:
    """What a form asks for. Raises WrongFields where it contradicts itself or names no newsletter."""
    fields: dict[str, str] = {}
    for name, value in pairs:
        # Blank ones do not count.
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
    """What the form gives under the first of these names that it has: upstream's come before ours."""
    return next((fields[name] for name in names if name in fields), "")
