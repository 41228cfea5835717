"""Discord's limits on kinds, lengths and counts. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5
MESSAGE, LATER, LATER_UPDATE, UPDATE, CHOICES, FORM = 4, 5, 6, 7, 8, 9
# https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
ANSWERS: Mapping[int, tuple[int, ...]] = {
    COMMAND: (MESSAGE, LATER, FORM),
    COMPONENT: (MESSAGE, LATER, LATER_UPDATE, UPDATE, FORM),
    AUTOCOMPLETE: (CHOICES,),
    MODAL: (MESSAGE, LATER, LATER_UPDATE, UPDATE),
}
ROW, BUTTON, MENU, INPUT, ROLE_MENU = 1, 2, 3, 4, 6
MENUS = (MENU, ROLE_MENU)
CONTENT = 2_000
# In channels: no previews, and silent.
FLAGS = 4 | 4_096


class InvalidBody(ValueError):
    """`code` is Discord's."""

    def __init__(self, words: str, code: int = 50035) -> None:
        super().__init__(words)
        self.code = code


def refuse_answer(kind: int, answer: Mapping[str, Any]) -> None:
    """Raises InvalidBody."""
    said = answer.get("type")
    _need(said in ANSWERS[kind], f"an answer of type {said} to an interaction of type {kind}")
    data = answer.get("data") or {}
    match said:
        case 4 | 7:
            refuse_message(data)
        case 8:
            _need(len(data["choices"]) <= 25, "more than 25 choices")
            for one in data["choices"]:
                _need(0 < len(one["name"]) <= 100, "a choice of no or more than 100 characters")
        case 9:
            refuse_form(data)


def refuse_message(body: Mapping[str, Any]) -> None:
    """Raises InvalidBody, also for messages that may mention users, which Discord would accept.

    https://discord.com/developers/docs/components/reference
    """
    _need(body.get("allowed_mentions") == {"parse": []}, "allowed_mentions: somebody may be called")
    _need(0 < len(body.get("content", "")) <= CONTENT, "content: none, or more than 2,000 characters")
    rows = body.get("components", [])
    _need(len(rows) <= 5, "more than five rows")
    names = [part["custom_id"] for row in rows for part in row["components"]]
    _need(len(set(names)) == len(names), "two parts with the same custom_id")
    for row in rows:
        _need(row["type"] == ROW and 0 < len(row["components"]) <= 5, "a row of no or more than five parts")
        for part in row["components"]:
            _refuse_part(part)


def _refuse_part(part: Mapping[str, Any]) -> None:
    _need(0 < len(part["custom_id"]) <= 100, "custom_id")
    if part["type"] == BUTTON:
        _need(0 < len(part["label"]) <= 80 and part["style"] in (1, 2, 3, 4), "a button")
        return
    if part["type"] == ROLE_MENU:
        _need(len(part.get("default_values", [])) <= part["max_values"], "a menu's chosen roles")
        return
    chosen = [option for option in part["options"] if option.get("default")]
    most = part.get("max_values", 1)
    _need(len(chosen) <= most <= len(part["options"]), "so many options of a menu")
    _need(part["type"] == MENU and 0 < len(part["options"]) <= 25, "a menu of no or more than 25 options")
    _need(len(part.get("placeholder", "")) <= 150, "a menu's placeholder")
    for option in part["options"]:
        texts = (option["label"], option["value"], option.get("description", "x"))
        _need(all(0 < len(text) <= 100 for text in texts), "a menu's option")


def refuse_post(body: Mapping[str, Any]) -> None:
    """Raises InvalidBody."""
    allowed, cards = body.get("allowed_mentions"), body.get("embeds") or []
    roles = allowed.get("roles", []) if isinstance(allowed, dict) else []
    is_careful = isinstance(allowed, dict) and allowed.get("parse") == [] and len(roles) <= 100
    _need(is_careful, "allowed_mentions: all sorts of mentions may call somebody")
    content = body.get("content", "")
    if not content and not cards:
        raise InvalidBody("Cannot send an empty message", 50006)
    _need(len(content) <= CONTENT, "content: more than 2,000 characters")
    _need(len(cards) <= 10, "more than ten cards")
    for card in cards:
        _refuse_card(card)
    _need(not body.get("flags", 0) & ~FLAGS, "flags")


def _refuse_card(card: Mapping[str, Any]) -> None:
    """https://discord.com/developers/docs/resources/message#embed-object-embed-limits"""
    author, footer = card.get("author", {}).get("name", ""), card.get("footer", {}).get("text", "")
    texts = [card.get("title", ""), card.get("description", ""), author, footer]
    limits = (256, 4_096, 256, 2_048)
    _need(all(len(text) <= most for text, most in zip(texts, limits, strict=True)), "a card's text")
    _need(sum(map(len, texts)) <= 6_000, "a card's texts together")
    addresses = filter(None, (card.get("url"), card.get("image", {}).get("url")))
    _need(all(re.fullmatch(r"https?://\S{1,2040}", url) for url in addresses), "a card's address")
    moment = card.get("timestamp")
    _need(moment is None or datetime.fromisoformat(moment).tzinfo is not None, "a card's time")


def refuse_form(data: Mapping[str, Any]) -> None:
    """Raises InvalidBody."""
    _need(0 < len(data["custom_id"]) <= 100 and 0 < len(data["title"]) <= 45, "a form's title")
    _need(0 < len(data["components"]) <= 5, "a form of no or more than five lines")
    for row in data["components"]:
        (part,) = row["components"]
        _need(part["type"] == INPUT and 0 < len(part["label"]) <= 45, "a line's label")
        _need(len(part.get("value", "")) <= part["max_length"] <= 4_000, "a line's value")
        _need(len(part.get("placeholder", "")) <= 100, "a line's placeholder")


def refuse_commands(commands: Sequence[Mapping[str, Any]]) -> None:
    """https://discord.com/developers/docs/interactions/application-commands"""
    for command in commands:
        parts = list(_parts(command))
        for part in parts:
            name = part["name"]
            _need(bool(re.fullmatch(r"[-_'\w]{1,32}", name)) and name == name.lower(), f"the name {name}")
            texts = [part["description"], *part.get("description_localizations", {}).values()]
            _need(all(0 < len(text) <= 100 for text in texts), f"the description of {name}")
            _need(len(part.get("options", [])) <= 25, f"the options of {name}")
            _need(len(part.get("choices", [])) <= 25, f"the choices of {name}")
            needed = [bool(one.get("required")) for one in part.get("options", [])]
            _need(needed == sorted(needed, reverse=True), f"{name}: required options must be first")
        length = sum(len(part["name"]) + len(part["description"]) for part in parts)
        _need(length <= 8_000, "more than 8,000 characters")


def _parts(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield part
    for option in part.get("options", []):
        yield from _parts(option)


def _need(is_so: bool, words: str) -> None:
    if not is_so:
        raise InvalidBody(words)
