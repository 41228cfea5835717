"""Interactions as Discord sends them. Pure.

https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demo.discord.limits import BUTTON, INPUT, MENU, ROW

SUB_COMMAND, STRING, INTEGER, CHANNEL = 1, 3, 4, 7
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    guild: str
    channel: str
    app_permissions: str
    channel_type: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """`permissions` is a bit field as a decimal string."""

    id: str
    name: str
    permissions: str
    roles: tuple[str, ...] = ()
    locale: str = "en-US"


def payload(kind: int, data: Body, *, member: Member, place: Place, is_on_message: bool = False) -> Body:
    """Each interaction adds its ids."""
    return {
        "type": kind,
        "guild_id": place.guild,
        "channel_id": place.channel,
        "channel": {"id": place.channel, "type": place.channel_type},
        "member": {
            "user": {"id": member.id, "username": member.name},
            "roles": list(member.roles),
            "permissions": member.permissions,
        },
        "app_permissions": place.app_permissions,
        "locale": member.locale,
        "guild_locale": "en-US",
        "data": data,
        **({"message": {"id": "1"}} if is_on_message else {}),
    }


def command_data(
    commands: Sequence[Mapping[str, Any]],
    words: str,
    options: Mapping[str, Any],
    *,
    place: Place,
    focused: str = "",
) -> Body:
    """Raises LookupError."""
    name, act = words.split()
    command = found(commands, name)
    types = {one["name"]: one["type"] for one in found(command["options"], act)["options"]}
    given = [
        {
            "name": key,
            "type": types[key],
            "value": int(value) if types[key] == INTEGER and str(value).isdecimal() else value,
            **({"focused": True} if key == focused else {}),
        }
        for key, value in options.items()
    ]
    resolved = {
        str(one["value"]): {
            "id": str(one["value"]),
            "type": place.channel_type,
            "app_permissions": place.app_permissions,
        }
        for one in given
        if one["type"] == CHANNEL
    }
    sub = {"name": act, "type": SUB_COMMAND, "options": given}
    data = {"id": command.get("id", "80"), "name": name, "type": 1, "options": [sub]}
    return {**data, "resolved": {"channels": resolved}} if resolved else data


def found(ones: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """Raises LookupError."""
    for one in ones:
        if one["name"] == name:
            return one
    raise LookupError(name)


def button_data(custom_id: str) -> Body:
    return {"custom_id": custom_id, "component_type": BUTTON}


def menu_data(custom_id: str, *values: str, kind: int = MENU) -> Body:
    return {"custom_id": custom_id, "component_type": kind, "values": list(values)}


def form_data(form: Mapping[str, Any], typed: Mapping[str, str]) -> Body:
    parts = [row["components"][0] for row in form["components"]]
    values = {part["custom_id"]: typed.get(part["custom_id"], part.get("value", "")) for part in parts}
    rows = [
        {"type": ROW, "components": [{"type": INPUT, "custom_id": name, "value": value}]}
        for name, value in values.items()
    ]
    return {"custom_id": form["custom_id"], "components": rows}


def parts_of(message: Mapping[str, Any]) -> list[Body]:
    return [part for row in message.get("components") or () for part in row["components"]]
