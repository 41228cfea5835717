from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from common.refused import Refused


class InvalidDestination(Refused):
    """The message names the field and the reason."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    label: str
    help: str = ""
    required: bool = False
    secret: bool = False
    choices: Callable[[], Sequence[tuple[str, str]]] | None = None
    # Raises ValueError with a sentence that completes “field: …”.
    clean: Callable[[str], str] | None = None
    many_lines: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDestination:
    """`core` is normalized and unique within the channel."""

    core: str
    label: str
    display_name: str = ""
    config: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


class Keyed(Protocol):
    key: str


def read_fields(fields: Sequence[Field], data: Mapping[str, str], *, owner: str) -> dict[str, str]:
    """Return the checked value of each field, "" if missing. Raises InvalidDestination.

    `owner` names the fields' owner in messages.
    """
    for name in sorted(data.keys() - {one.name for one in fields}):
        raise InvalidDestination(f"{owner} has no field “{name}”.")
    return {one.name: _read(one, data.get(one.name, "").strip()) for one in fields}


def _read(field: Field, value: str) -> str:
    if field.required and not value:
        raise InvalidDestination(f"{field.name}: it is missing. {field.help}".rstrip())
    try:
        value = field.clean(value) if field.clean is not None and value else value
    except ValueError as error:
        raise InvalidDestination(f"{field.name}: {error}") from error
    if field.choices is not None and value and value not in (known := [key for key, _ in field.choices()]):
        raise InvalidDestination(f"{field.name}: choose one of {', '.join(filter(None, known))}.")
    return value


class ChannelSpec(Protocol):
    """`sentence` describes the channel to users who choose one.

    Sign-up forms list public channels. `needs_html`: it sends the rendered letter, not posts.
    `announcement_hook` may write the announcements. `is_by_code`: signing up needs a code that was sent to
    the destination. `is_companion`: it carries issues of another channel's newsletters for readers who asked
    for it. `borrows`: kind of the destinations whose credentials it uses, by their core.
    """

    key: str
    label: str
    sentence: str = ""
    public_sign_up: bool = False
    is_by_code: bool = False
    needs_html: bool = False
    is_companion: bool = False
    borrows: str = ""
    arrangements: frozenset[str]
    destination_fields: tuple[Field, ...]
    announcement_hook: str = ""

    @property
    def option_fields(self) -> tuple[Field, ...]: ...

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """Raises InvalidDestination."""
        ...

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        """Raises InvalidDestination."""
        given = read_fields(self.option_fields, data, owner=self.label)
        return {name: value for name, value in given.items() if value}

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Check the credentials with the service and add its name for the destination.

        Uses the network. Raises InvalidDestination.
        """
        return destination


class AccountSpec(Protocol):
    key: str
    label: str
    account_fields: tuple[Field, ...]

    def check_account(self, values: Mapping[str, str]) -> str:
        """Return the account's name at the service. Uses the network. Raises InvalidDestination."""
        ...


@runtime_checkable
class HasAccounts(ChannelSpec, AccountSpec, Protocol):
    """Destinations share accounts, such as a bot or an SMS sender.

    Without `account_fields` each destination has its own account.
    """


_registry: dict[str, ChannelSpec] = {}


def register(kind: ChannelSpec) -> None:
    _registry[kind.key] = kind


def get(key: str) -> ChannelSpec:
    """Raises InvalidDestination."""
    if key not in _registry:
        raise InvalidDestination(f"There is no channel “{key}”. There are: {', '.join(sorted(_registry))}.")
    return _registry[key]


def all_kinds() -> list[ChannelSpec]:
    """Put public ones first."""
    return sorted(_registry.values(), key=lambda kind: (not kind.public_sign_up, kind.key))


def person_kinds() -> list[ChannelSpec]:
    return [kind for kind in all_kinds() if kind.public_sign_up]


def parse_typed(kind: ChannelSpec, typed: str) -> ParsedDestination:
    """Raises InvalidDestination."""
    return kind.parse_destination({kind.destination_fields[0].name: typed})


def parse_person(typed: str) -> tuple[str, ParsedDestination]:
    """Raise InvalidDestination of the usual channel."""
    usual, *others = person_kinds()
    for kind in others:
        with suppress(InvalidDestination):
            return kind.key, parse_typed(kind, typed)
    return usual.key, parse_typed(usual, typed)


def newsletter_kinds() -> list[ChannelSpec]:
    return [kind for kind in all_kinds() if not kind.is_companion]


def bridge_kinds() -> list[ChannelSpec]:
    return [kind for kind in all_kinds() if not (kind.public_sign_up or kind.is_companion)]


def bridge_fields() -> list[Field]:
    """Equal names mean the same."""
    fields: dict[str, Field] = {}
    for kind in bridge_kinds():
        for each in kind.destination_fields:
            fields.setdefault(each.name, each)
    return list(fields.values())
