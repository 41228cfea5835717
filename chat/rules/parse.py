"""Strict parsing of interactions, which may contain anything.

In minutes.

`v1:<act>:<number>`; old ids still work.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.rules.permissions import bits_of
from common.text import without_controls

VERSION = "v1"
LONGEST_CUSTOM_ID = 100
# Maximum of snowflakes and bigint.
LARGEST_ID = 2**63 - 1
LONGEST_INTERVAL = 24 * 60
PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 1, 2, 3, 4, 5
# https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-option-type
SUB_COMMAND = 1
LONGEST_TEXT = 4_000
_SNOWFLAKE = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Pressed:
    """`number` is mostly a feed's in its server."""

    act: str
    number: int = 0

    def __str__(self) -> str:
        return f"{VERSION}:{self.act}:{self.number}"


def pressed(custom_id: object) -> Pressed | None:
    """None if unknown."""
    parts = custom_id.split(":") if isinstance(custom_id, str) and len(custom_id) <= LONGEST_CUSTOM_ID else []
    if len(parts) != 3 or parts[0] != VERSION or not parts[1].isidentifier() or len(parts[1]) > 20:
        return None
    number = int(parts[2]) if _SNOWFLAKE.fullmatch(parts[2]) else LARGEST_ID + 1
    return Pressed(parts[1], number) if number <= LARGEST_ID else None


class Malformed(ValueError):
    """Not a valid interaction."""


@dataclass(frozen=True, slots=True)
class ParsedInteraction:
    """`act` is the subcommand or a button's purpose.

    `values` were chosen in a menu, `fields` typed or given as options.
    """

    id: int
    kind: int
    token: str = field(repr=False)
    guild_id: int
    user_id: int
    channel_id: int
    channel_type: int
    permissions: int
    app_permissions: int
    roles: tuple[int, ...]
    locale: str
    guild_locale: str
    command: str = ""
    act: str = ""
    pressed: Pressed | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    focused: str = ""
    # From a button or menu, or their form.
    is_on_message: bool = False
    values: tuple[str, ...] = ()
    # Type and our permissions (or None).
    channels: Mapping[int, tuple[int, int | None]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.pressed.number if self.pressed else 0


def read(payload: Any) -> ParsedInteraction:
    data = object_of(payload.get("data"))
    member, channel = object_of(payload.get("member")), object_of(payload.get("channel"))
    user = object_of(member.get("user")) or object_of(payload.get("user"))
    kind, focused, act = payload.get("type"), "", ""
    fields: dict[str, str] = {}
    if kind in (COMMAND, AUTOCOMPLETE):
        act, fields, focused = _command(data)
    name = pressed(data.get("custom_id")) if kind in (COMPONENT, MODAL) else None
    if kind == MODAL:
        fields = dict(_typed(data.get("components"), depth=0))
    if kind not in (COMMAND, COMPONENT, AUTOCOMPLETE, MODAL):
        raise Malformed("an interaction of an unknown kind")
    values = data.get("values")
    return ParsedInteraction(
        id=snowflake_of(payload.get("id")),
        kind=kind,
        token=_text(payload.get("token")),
        guild_id=_maybe(payload.get("guild_id")),
        user_id=snowflake_of(user.get("id")),
        channel_id=_maybe(payload.get("channel_id")) or _maybe(channel.get("id")),
        channel_type=_number(channel.get("type")),
        permissions=bits_of(member.get("permissions")),
        app_permissions=bits_of(payload.get("app_permissions")),
        roles=tuple(_maybe(role) for role in _list(member.get("roles"))),
        locale=_text(payload.get("locale"))[:10],
        guild_locale=_text(payload.get("guild_locale"))[:10],
        command=_text(data.get("name")),
        act=name.act if name else act,
        pressed=name,
        fields=fields,
        focused=focused,
        is_on_message=kind in (COMPONENT, MODAL) and bool(object_of(payload.get("message"))),
        values=tuple(_text(value) for value in _list(values)),
        channels=_channels(object_of(data.get("resolved")).get("channels")),
    )


def snowflake_of(said: Any) -> int:
    """Check that it fits a bigint. Raises Malformed."""
    if not isinstance(said, str) or not _SNOWFLAKE.fullmatch(said) or int(said) > LARGEST_ID:
        raise Malformed("no id")
    return int(said)


def _command(data: Mapping[str, Any]) -> tuple[str, dict[str, str], str]:
    """Return subcommand, options, and the option being typed."""
    first = next((one for one in _list(data.get("options")) if isinstance(one, Mapping)), {})
    if first.get("type") != SUB_COMMAND:
        raise Malformed("no subcommand")
    options = [one for one in _list(first.get("options")) if isinstance(one, Mapping)]
    fields = {_text(one.get("name")): _text(one.get("value")) for one in options}
    focused = next((_text(one.get("name")) for one in options if one.get("focused") is True), "")
    return _text(first.get("name")), fields, focused


def _typed(components: Any, *, depth: int) -> Iterator[tuple[str, str]]:
    """Inputs are in rows or below labels."""
    for one in _list(components):
        if not isinstance(one, Mapping) or depth > 2:
            continue
        if isinstance(one.get("custom_id"), str):
            yield one["custom_id"], _text(one.get("value"))
        yield from _typed(one.get("components"), depth=depth + 1)
        yield from _typed([one.get("component")], depth=depth + 1)


def _channels(said: Any) -> dict[int, tuple[int, int | None]]:
    found: dict[int, tuple[int, int | None]] = {}
    for key, one in object_of(said).items():
        bits = object_of(one).get("app_permissions")
        found[_maybe(key)] = (_number(object_of(one).get("type")), None if bits is None else bits_of(bits))
    return found


def object_of(said: Any) -> Mapping[str, Any]:
    return said if isinstance(said, Mapping) else {}


def _list(said: Any) -> list[Any]:
    return said[:100] if isinstance(said, list) else []


def _text(said: Any) -> str:
    if isinstance(said, bool) or not isinstance(said, str | int):
        return ""
    return without_controls(str(said)[:LONGEST_TEXT])


def _number(said: Any) -> int:
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 1_000 else 0


def _maybe(said: Any) -> int:
    try:
        return snowflake_of(said)
    except Malformed:
        return 0


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a feed's interval (`Feed.recheck_every_minutes`, `ceiling_minutes`).

    While a post settles, feeds are read at the shortest: a long choice must not lengthen that.
    """

    shortest: int
    longest: int


# Default of servers.
USUAL = Interval(10, 60)


def shared_interval(chosen: Collection[int | None]) -> Interval:
    """Combine all servers' longest times between two polls (None: the default)."""
    longest = min((minutes or USUAL.longest for minutes in chosen), default=USUAL.longest)
    return Interval(min(USUAL.shortest, longest), longest)
