"""Messages, buttons and forms for Discord.

https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from channels.discord.message import escaped
from chat.rules.parse import Pressed
from common.truncation import cut_to, plain_line

EPHEMERAL, NO_PREVIEWS = 1 << 6, 1 << 2
PONG, MESSAGE, LATER, LATER_UPDATE, UPDATE, CHOICES, MODAL_FORM = 1, 4, 5, 6, 7, 8, 9
PRIMARY, SECONDARY, DANGER = 1, 2, 4
CONTENT_LIMIT, LABEL_LIMIT, CHOICE_LIMIT, MODAL_TITLE_LIMIT = 2_000, 80, 100, 45
MOST_CHOICES = 25
ONE_LINE, LINES = 1, 2

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """For the asking person only, unless `public`."""

    content: str
    rows: Sequence[Sequence[Body]] = ()
    public: bool = False

    @property
    def body(self) -> Body:
        """Without mentions."""
        return {
            "content": self.content[:CONTENT_LIMIT],
            "components": [{"type": 1, "components": list(row)} for row in self.rows if row],
            "allowed_mentions": {"parse": []},
            "flags": NO_PREVIEWS | (0 if self.public else EPHEMERAL),
        }

    def answer(self, *, in_place: bool = False) -> Body:
        """`in_place`: replace the message of the pressed button."""
        return {"type": UPDATE if in_place else MESSAGE, "data": self.body}


@dataclass(frozen=True, slots=True)
class Input:
    """A form has at most five."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    longest: int = 1_000
    many_lines: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """The answers arrive with `act`."""

    act: Pressed
    title: str
    inputs: Sequence[Input] = field(default=())

    def answer(self) -> Body:
        data = {
            "custom_id": str(self.act),
            "title": fitted(self.title, MODAL_TITLE_LIMIT),
            "components": [{"type": 1, "components": [_input(one)]} for one in self.inputs],
        }
        return {"type": MODAL_FORM, "data": data}


@dataclass(frozen=True, slots=True)
class Later:
    """A worker answers. `in_place`: replace the button's message."""

    in_place: bool = False

    def answer(self) -> Body:
        if self.in_place:
            return {"type": LATER_UPDATE}
        return {"type": LATER, "data": {"flags": EPHEMERAL}}


Reply = Message | Form | Later


def _input(one: Input) -> Body:
    body = {
        "type": 4,
        "custom_id": one.name,
        "label": fitted(one.label, MODAL_TITLE_LIMIT),
        "style": LINES if one.many_lines else ONE_LINE,
        "required": False,
        "max_length": one.longest,
        "value": one.value[: one.longest],
        "placeholder": fitted(one.hint, 100),
    }
    return {name: value for name, value in body.items() if value != ""}


def button(label: str, act: Pressed, *, style: int = SECONDARY) -> Body:
    return {"type": 2, "style": style, "label": fitted(label, LABEL_LIMIT), "custom_id": str(act)}


def menu(
    act: Pressed,
    hint: str,
    choices: Sequence[tuple[str, str, str]],
    *,
    chosen: Collection[str] = (),
    several: bool = False,
) -> Body:
    """`choices`: at most 25 of (value, label, description)."""
    options = [
        {
            "value": value,
            "label": fitted(words, CHOICE_LIMIT),
            "description": fitted(more, CHOICE_LIMIT),
            "default": value in chosen,
        }
        for value, words, more in choices[:MOST_CHOICES]
    ]
    kept = [{name: texts for name, texts in one.items() if texts} for one in options]
    bounds = {"min_values": 0, "max_values": len(kept)} if several else {}
    texts = {"placeholder": fitted(hint, CHOICE_LIMIT), "options": kept}
    return {"type": 3, "custom_id": str(act), **texts, **bounds}


def role_menu(act: Pressed, hint: str, chosen: str) -> Body:
    default = {"default_values": [{"id": chosen, "type": "role"}]} if chosen else {}
    body = {"type": 6, "custom_id": str(act), "placeholder": fitted(hint, CHOICE_LIMIT)}
    return {**body, "min_values": 0, "max_values": 1, **default}


def fitted(text: str, limit: int) -> str:
    """For places without markup."""
    return cut_to(plain_line(text), limit)


def shown_title(text: str, limit: int = 200) -> str:
    """Escape other people's words, without mentions."""
    return escaped(fitted(text, limit))


def channel_mention(channel_id: int) -> str:
    return f"<#{channel_id}>"


def shown_link(title: str, url: str) -> str:
    words = shown_title(title or url)
    safe = url if url.startswith(("https://", "http://")) and not set(url) & set(" <>\n") else ""
    return f"[{words}](<{safe}>)" if safe and len(url) <= 400 else words


def choices(pairs: Sequence[tuple[str, str]]) -> Body:
    """`pairs`: (label, value)."""
    options = [{"name": fitted(words, CHOICE_LIMIT) or "–", "value": value} for words, value in pairs]
    return {"type": CHOICES, "data": {"choices": options[:MOST_CHOICES]}}


def body_of(result: Mapping[str, Any]) -> Body:
    """A follow-up cannot change the flags."""
    return {name: value for name, value in result.items() if name != "flags"}
