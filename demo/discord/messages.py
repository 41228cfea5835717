from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from demo.content.post import ZONE
from demo.discord import payloads
from demo.discord.interactions import TOKEN_LIVES, Exchange
from demo.discord.limits import COMMAND, LATER_UPDATE, MENUS, ROLE_MENU, UPDATE
from demo.discord.markup import drawn
from demo.discord.places import ADA, ADA_NAME, BOT_NAME, CHANNELS, ROLES
from demo.timeline import TimelinePost

JOINED = 7
STYLES = {1: "main", 3: "good", 4: "bad"}


@dataclass(frozen=True, slots=True)
class ShownBody:
    """`on` identifies the message for buttons."""

    on: str
    text: SafeString
    cards: list[dict[str, Any]]
    rows: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`token` is there where only who asked sees it; `failure` is why the bot did not answer."""

    anchor: str
    name: str
    at: datetime
    bodies: list[ShownBody] = field(default_factory=list)
    is_bots: bool = True
    joins: bool = False
    used: str = ""
    token: str = ""
    is_waited_for: bool = False
    failure: str = ""
    picture: str = ""

    @property
    def initials(self) -> str:
        return "".join(word[0] for word in self.name.split()[:2]).upper()

    @property
    def when(self) -> str:
        at = self.at.astimezone(ZONE)
        return f"{at.day} {at:%b}, {at:%H:%M}"


def shown_messages(
    posts: Iterable[TimelinePost], exchanges: Iterable[Exchange], *, now: datetime, bot: str
) -> list[ShownMessage]:
    """Newest first; `bot` is an id."""
    found = [_of_post(post, bot, now) for post in posts]
    found += [shown for one in exchanges if (shown := _of_exchange(one, now))]
    return sorted(found, key=lambda message: message.at, reverse=True)


def _of_post(post: TimelinePost, bot: str, now: datetime) -> ShownMessage:
    body, at = post.body or {}, datetime.fromisoformat(post.at)
    if body.get("type") == JOINED:
        return ShownMessage(post.number, BOT_NAME, at, joins=True)
    is_bots = (body.get("author") or {}).get("id") == bot
    name = BOT_NAME if is_bots else str(body.get("username") or "Harbour Notes")
    picture = _web_address(body.get("avatar_url"))
    return ShownMessage(post.number, name, at, [_body(body, post.number, now)], is_bots, picture=picture)


def _of_exchange(one: Exchange, now: datetime) -> ShownMessage | None:
    """None if it changed another message or opened a form."""
    is_elsewhere = one.answer.get("type") in (UPDATE, LATER_UPDATE)
    if one.form or (is_elsewhere and not one.follow_ups):
        return None
    shown = [*([] if is_elsewhere else [one.message]), *one.follow_ups]
    is_late = one.waits and now - one.sent_at > TOKEN_LIVES
    failure = one.failure or ("It said nothing for a quarter of an hour." if is_late else "")
    return ShownMessage(
        f"x{one.number}",
        BOT_NAME,
        one.sent_at,
        [_body(body, one.token, now) for body in shown if body is not None],
        used=_words(one) if one.payload["type"] == COMMAND else "",
        token=one.token if one.is_ephemeral or failure else "",
        is_waited_for=one.waits and not failure,
        failure=failure,
    )


def _words(one: Exchange) -> str:
    data = one.payload["data"]
    sub = data["options"][0]
    given = "".join(f" {option['name']}:{_value(option)}" for option in sub["options"])
    return f"/{data['name']} {sub['name']}{given}"


def _value(option: Mapping[str, Any]) -> str:
    value = str(option["value"])
    return f"#{CHANNELS.get(value, value)}" if option["type"] == payloads.CHANNEL else value


def _body(body: Mapping[str, Any], on: str, now: datetime) -> ShownBody:
    return ShownBody(
        on,
        _marked(body.get("content"), now),
        [_card(card, now) for card in body.get("embeds") or ()],
        list(_rows(body)),
    )


def _card(card: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {
        "author": card.get("author", {}).get("name", ""),
        "title": _marked(card.get("title"), now),
        "url": _web_address(card.get("url")),
        "text": _marked(card.get("description"), now),
        "picture": _web_address(card.get("image", {}).get("url")),
        "foot": card.get("footer", {}).get("text", ""),
    }


def _rows(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in body.get("components") or ():
        first = row["components"][0]
        if first["type"] in MENUS:
            roles = {one["id"] for one in first.get("default_values", ())}
            of_roles = [
                {"value": role, "label": f"@{name}", "default": role in roles} for role, name in ROLES.items()
            ]
            is_open = first.get("min_values", 1) == first.get("max_values", 1) == 1
            options = of_roles if first["type"] == ROLE_MENU else first["options"]
            yield {"menu": first, "options": options, "is_open": is_open}
        else:
            yield {"buttons": [(STYLES.get(part["style"], ""), part) for part in row["components"]]}


def _marked(text: Any, now: datetime) -> SafeString:
    people = {ADA: ADA_NAME, **ROLES}
    return mark_safe(drawn(str(text or ""), channels=CHANNELS, people=people, now=now))  # noqa: S308 - escaped there


def _web_address(url: Any) -> str:
    """Only web addresses are safe in attributes."""
    return url if isinstance(url, str) and url.startswith(("https://", "http://")) else ""
