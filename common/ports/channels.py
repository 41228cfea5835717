"""The port to channels: what the apps before `delivery` need to know of a channel, and its registry."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

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
    # The value as it is kept; raises ValueError with a sentence that completes “field: …”.
    clean: Callable[[str], str] | None = None
    many_lines: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDestination:
    """`core` is normalised and unique within the kind; `label` is how people read it."""

    core: str
    label: str
    display_name: str = ""
    config: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


class Keyed(Protocol):
    """A channel, or something else that has fields of its own."""

    key: str


ARRANGEMENTS = frozenset({"each", "daily", "weekly", "monthly", "every_n", "cron"})


def read_fields(fields: Sequence[Field], data: Mapping[str, str], *, owner: str) -> dict[str, str]:
    """Each field's value, checked, "" for one that is not given. Raises InvalidDestination.

    `owner` is whose fields they are, for people.
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
    """The description of a channel. `key` names it in rows; sign-up forms are for public kinds. `needs_html`:
    what it sends is the letter, rendered; others take the posts themselves.

    `announcement_hook` is the hook that may choose the words of a post; empty: none does. `sentence` says
    what happens there, to who chooses among the channels. `is_by_code`: its mails are a few words, and
    whoever signs up types a code that was sent there. One that `is_companion` carries the issues of
    newsletters that travel by another channel, to those of their readers who asked for it: nothing is defined
    with it.
    """

    key: str
    label: str
    sentence: str
    public_sign_up: bool
    is_by_code: bool
    needs_html: bool
    is_companion: bool
    arrangements: frozenset[str]
    destination_fields: tuple[Field, ...]
    announcement_hook: str

    @property
    def option_fields(self) -> tuple[Field, ...]: ...

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """The destination of a form's or command's fields. Raises InvalidDestination."""
        ...

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        """The channel's options of a subscribable, validated. Raises InvalidDestination."""
        ...

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Asks the service whether the credentials are good, and what the destination is called there
        (network). Raises InvalidDestination."""
        ...


class AccountSpec(Protocol):
    """What is kept of an account at a service, and how the service is asked about it."""

    key: str
    label: str
    account_fields: tuple[Field, ...]

    def check_account(self, values: Mapping[str, str]) -> str:
        """Whose account it is, as the service says (network); `values` are the account's fields. Raises
        InvalidDestination."""
        ...


@runtime_checkable
class HasAccounts(ChannelSpec, AccountSpec, Protocol):
    """A ChannelSpec whose destinations share accounts, such as a bot or a sender of text messages.

    `account_fields` are what such an account needs; none where each destination has its own.
    """


_registry: dict[str, ChannelSpec] = {}


def register(kind: ChannelSpec) -> None:
    _registry[kind.key] = kind


def get(key: str) -> ChannelSpec:
    """The kind of that name. Raises InvalidDestination with the names there are."""
    if key not in _registry:
        raise InvalidDestination(f"There is no channel “{key}”. There are: {', '.join(sorted(_registry))}.")
    return _registry[key]


def all_kinds() -> list[ChannelSpec]:
    """Those that people sign up for first: a form that offers them begins with the usual one."""
    return sorted(_registry.values(), key=lambda kind: (not kind.public_sign_up, kind.key))


def person_kinds() -> list[ChannelSpec]:
    """Those that people sign up for, whose destinations are somebody's: addresses, numbers."""
    return [kind for kind in all_kinds() if kind.public_sign_up]


def parse_typed(kind: ChannelSpec, typed: str) -> ParsedDestination:
    """A destination by its first field alone, such as an address or a number. Raises InvalidDestination."""
    return kind.parse_destination({kind.destination_fields[0].name: typed})


def parse_person(typed: str) -> tuple[str, ParsedDestination]:
    """Whose address or number it is, with the key of its kind. Raises InvalidDestination, as the usual kind
    says it."""
    usual, *others = person_kinds()
    for kind in others:
        with suppress(InvalidDestination):
            return kind.key, parse_typed(kind, typed)
    return usual.key, parse_typed(usual, typed)


def newsletter_kinds() -> list[ChannelSpec]:
    """Those that a newsletter or a bridge is defined with."""
    return [kind for kind in all_kinds() if not kind.is_companion]


def bridge_kinds() -> list[ChannelSpec]:
    """Those for which nobody signs up: an admin sets up an account of theirs."""
    return [kind for kind in all_kinds() if not kind.public_sign_up]


def bridge_fields() -> list[Field]:
    """The fields of all bridges' destinations, each name once: it means the same wherever it stands."""
    found: dict[str, Field] = {}
    for kind in bridge_kinds():
        for one in kind.destination_fields:
            found.setdefault(one.name, one)
    return list(found.values())
