"""Messages, buttons and forms as Discord takes them.

https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from channels.discord.message import escaped
from chat.rules.buttons import Pressed
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
    """What is said in the conversation; only to who asked, unless it is to be `public`."""

    content: str
    rows: Sequence[Sequence[Body]] = ()
    public: bool = False

    @property
    def body(self) -> Body:
        """Nobody is ever called by it."""
        return {
            "content": self.content[:CONTENT_LIMIT],
            "components": [{"type": 1, "components": list(row)} for row in self.rows if row],
            "allowed_mentions": {"parse": []},
            "flags": NO_PREVIEWS | (0 if self.public else EPHEMERAL),
        }

    def answer(self, *, in_place: bool = False) -> Body:
        """As the answer to an interaction; `in_place` of the message whose button was pressed."""
        return {"type": UPDATE if in_place else MESSAGE, "data": self.body}


@dataclass(frozen=True, slots=True)
class Input:
    """A line of a form, which Discord lets have five of them."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    longest: int = 1_000
    many_lines: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """What is typed comes back under its act."""

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
    """It takes longer than three seconds: a worker answers. `in_place`: it changes the message that has the
    button."""

    in_place: bool = False

    def answer(self) -> Body:
        if self.in_place:
            return {"type": LATER_UPDATE}
        return {"type": LATER, "data": {"flags": EPHEMERAL}}


Result = Message | Form | Later


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
    """Of at most 25 choices: (value, words, more words). Of `several` any number may be chosen."""
    options = [
        {
            "value": value,
            "label": fitted(words, CHOICE_LIMIT),
            "description": fitted(more, CHOICE_LIMIT),
            "default": value in chosen,
        }
        for value, words, more in choices[:MOST_CHOICES]
    ]
    kept = [{name: said for name, said in one.items() if said} for one in options]
    bounds = {"min_values": 0, "max_values": len(kept)} if several else {}
    said = {"placeholder": fitted(hint, CHOICE_LIMIT), "options": kept}
    return {"type": 3, "custom_id": str(act), **said, **bounds}


def role_menu(act: Pressed, hint: str, chosen: str) -> Body:
    """Of the server's roles, by id: one or none."""
    default = {"default_values": [{"id": chosen, "type": "role"}]} if chosen else {}
    body = {"type": 6, "custom_id": str(act), "placeholder": fitted(hint, CHOICE_LIMIT)}
    return {**body, "min_values": 0, "max_values": 1, **default}


def fitted(text: str, limit: int) -> str:
    """On one line, cut at a word; for where Discord knows no markup."""
    return cut_to(plain_line(text), limit)


def shown_title(text: str, limit: int = 200) -> str:
    """Words of others, which stay words and call nobody."""
    return escaped(fitted(text, limit))


def channel_mention(channel_id: int) -> str:
    return f"<#{channel_id}>"


def shown_link(title: str, url: str) -> str:
    """A linked title without a preview."""
    words = shown_title(title or url)
    safe = url if url.startswith(("https://", "http://")) and not set(url) & set(" <>\n") else ""
    return f"[{words}](<{safe}>)" if safe and len(url) <= 400 else words


def choices(pairs: Sequence[tuple[str, str]]) -> Body:
    """What may be chosen while somebody types: (words, value)."""
    found = [{"name": fitted(words, CHOICE_LIMIT) or "–", "value": value} for words, value in pairs]
    return {"type": CHOICES, "data": {"choices": found[:MOST_CHOICES]}}


def body_of(result: Mapping[str, Any]) -> Body:
    """What a follow-up sends: flags are fixed by the deferral."""
    return {name: value for name, value in result.items() if name != "flags"}
