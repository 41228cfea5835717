"""Typed commands such as `/feed add url:blog.example start:3`. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demo.discord.payloads import CHANNEL, INTEGER, found

MOST_SUGGESTIONS = 25
Definition = Mapping[str, Any]


class BadLine(ValueError):
    """The message is for the user."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`line` is the completed input."""

    label: str
    about: str
    line: str


@dataclass(frozen=True, slots=True)
class Typed:
    """`words` are such as “feed add”; `focused` is the last option, perhaps incomplete."""

    words: str
    options: dict[str, str]
    focused: str = ""


def read_line(line: str, commands: Sequence[Definition], channels: Mapping[str, str]) -> Typed:
    """Parse a complete command. `channels` are names by id. Raises BadLine."""
    sub, typed = _begun(line, commands)
    if sub is None:
        raise BadLine("There is no such command. All commands are below.")
    options = dict(typed.options)
    for option in sub["options"]:
        value = options.get(option["name"], "")
        if not value:
            options.pop(option["name"], None)
            if option.get("required"):
                raise BadLine(f"{option['name']}: this option is required. Specify a value.")
            continue
        options[option["name"]] = _checked(option, value, channels)
    return Typed(typed.words, options, typed.focused)


def suggestions(line: str, commands: Sequence[Definition], channels: Mapping[str, str]) -> list[Suggestion]:
    """Suggest commands, options and choices; for the application's, see `asks_application`."""
    sub, typed = _begun(line, commands)
    if sub is None or line == f"/{typed.words}":
        begun = line.strip().lower()
        return [
            Suggestion(f"/{words}", one["description"], f"/{words} ")
            for words, one in _subcommands(commands)
            if f"/{words}".startswith(begun) or begun.lstrip("/") in words
        ][:MOST_SUGGESTIONS]
    if typed.focused and not line.endswith(" "):
        return list(_values(line, found(sub["options"], typed.focused), typed, channels))[:MOST_SUGGESTIONS]
    head = line.rstrip()
    return [
        Suggestion(one["name"], one["description"], f"{head} {one['name']}:")
        for one in sub["options"]
        if one["name"] not in typed.options
    ]


def asks_application(line: str, commands: Sequence[Definition]) -> Typed | None:
    sub, typed = _begun(line, commands)
    if sub is None or not typed.focused or not found(sub["options"], typed.focused).get("autocomplete"):
        return None
    return typed


def with_value(line: str, typed: Typed, value: str) -> str:
    begun = typed.options[typed.focused]
    before = line[: line.rindex(begun)] if begun else line
    before = before if before.rstrip().endswith(":") else f"{before.rstrip()} {typed.focused}:"
    return f"{before}{value}"


def _begun(line: str, commands: Sequence[Definition]) -> tuple[Definition | None, Typed]:
    for words, sub in sorted(_subcommands(commands), key=lambda one: -len(one[0])):
        begins = f"/{words}"
        if line.startswith(f"{begins} ") or line.strip() == begins:
            return sub, Typed(words, *_options(line[len(begins) :], sub["options"]))
    return None, Typed("", {})


def _options(text: str, known: Sequence[Definition]) -> tuple[dict[str, str], str]:
    """Text without a name is for the first option."""
    names = "|".join(re.escape(one["name"]) for one in known)
    if not names:
        return {}, ""
    parts = re.split(rf"(?:(?<=\s)|^)({names}):", text)
    found_ones: dict[str, str] = {}
    if parts[0].strip():
        found_ones[known[0]["name"]] = parts[0].strip()
    found_ones |= {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}
    return found_ones, next(reversed(found_ones), "")


def _checked(option: Definition, value: str, channels: Mapping[str, str]) -> str:
    """Raises BadLine."""
    name = option["name"]
    if option["type"] == CHANNEL:
        ids = [one for one, called in channels.items() if value.lstrip("#").lower() in (called, one)]
        if not ids:
            raise BadLine(f"{name}: there is no channel {value}. There are #{', #'.join(channels.values())}.")
        return ids[0]
    chosen = [one["value"] for one in option.get("choices", ())]
    if chosen and value not in chosen:
        raise BadLine(f"{name}: choose one of {', '.join(chosen)}.")
    if option["type"] == INTEGER:
        low, high = option.get("min_value", 0), option.get("max_value", 10**9)
        if not value.isdecimal() or not low <= int(value) <= high:
            raise BadLine(f"{name}: a number from {low} to {high}.")
    return value


def _values(line: str, option: Definition, typed: Typed, channels: Mapping[str, str]) -> Iterator[Suggestion]:
    begun = typed.options[option["name"]].lstrip("#").lower()
    values = [one["value"] for one in option.get("choices", ())]
    if option["type"] == CHANNEL:
        values = [f"#{name}" for name in channels.values()]
    for value in values:
        if value.lstrip("#").lower().startswith(begun):
            yield Suggestion(value, option["description"], f"{with_value(line, typed, value)} ")


def _subcommands(commands: Sequence[Definition]) -> list[tuple[str, Definition]]:
    return [(f"{one['name']} {sub['name']}", sub) for one in commands for sub in one["options"]]
