"""The port to channels: what the apps before `delivery` need to know of a channel, and its registry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from common.refused import Refused


class InvalidDestination(Refused):
    """A destination or option that the channel cannot take. The message names the field and the reason."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a channel's destination or options, for forms and commands alike."""

    name: str
    label: str
    help: str = ""
    required: bool = False
    secret: bool = False
    # Values and their labels, for a field with few choices; called whenever a form is shown.
    choices: Callable[[], Sequence[tuple[str, str]]] | None = None


@dataclass(frozen=True, slots=True)
class ParsedDestination:
    """`core` is normalised and unique within the kind; `label` is how people read it."""

    core: str
    label: str
    display_name: str = ""
    config: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)


class ChannelSpec(Protocol):
    """The description of a channel. `key` names it in rows; sign-up forms are for public kinds."""

    key: str
    label: str
    public_sign_up: bool
    arrangements: frozenset[str]
    destination_fields: tuple[Field, ...]
    option_fields: tuple[Field, ...]

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """The destination of a form's or command's fields. Raises InvalidDestination."""
        ...

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        """The channel's options of a subscribable, validated. Raises InvalidDestination."""
        ...

    def check(self, destination: ParsedDestination) -> None:
        """Asks the service whether the credentials are good (network). Raises InvalidDestination."""
        ...


_registry: dict[str, ChannelSpec] = {}


def register(kind: ChannelSpec) -> None:
    _registry[kind.key] = kind


def get(key: str) -> ChannelSpec:
    """The kind of that name. Raises InvalidDestination with the names there are."""
    if key not in _registry:
        raise InvalidDestination(f"There is no channel “{key}”. There are: {', '.join(sorted(_registry))}.")
    return _registry[key]


def all_kinds() -> list[ChannelSpec]:
    return [_registry[key] for key in sorted(_registry)]
