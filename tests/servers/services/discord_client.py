"""Discord's side of interactions: a client that signs requests, and the API behind it.

Checks our responses against Discord's limits: types, lengths, three seconds, tokens of fifteen minutes. The
demo's Discord uses the same code.
"""

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client

from chat.commands.definitions import commands
from common.clock import utcnow
from demo.answer import ApiAnswer, ApiRequest
from demo.discord import payloads
from demo.discord.interactions import UNKNOWN_WEBHOOK, Application, Exchange, Interactions
from demo.discord.limits import AUTOCOMPLETE, COMMAND, COMPONENT, MENUS, MODAL
from demo.discord.portal import Portal
from tests.environment import DISCORD
from tests.servers.api_server import Reply, Request
from tests.servers.services.discord import BOT, BOT_TOKEN, BOTS_RIGHTS, BOTS_ROLE, CHANNEL, GUILD, Discord

APPLICATION, PERSON = DISCORD["DISCORD_APPLICATION_ID"], "42"
OURS = Application(APPLICATION, Ed25519PrivateKey.from_private_bytes(bytes(range(32))), BOT_TOKEN)
PUBLIC_KEY = OURS.public_key
MANAGE_SERVER, ALL = "32", str(1 << 10 | 1 << 11 | 1 << 14 | 1 << 16 | 1 << 38)
INTERACTIONS, EVENTS = "/discord/interactions/", "/discord/events/"
_ids = itertools.count(1_400_000_000_000_000_000)


def deliver(
    body: bytes, *, path: str = INTERACTIONS, timestamp: str = "", signature: str | None = None
) -> Any:
    """Return our server's response to a signed request. Pass `signature` to forge one."""
    headers = OURS.headers(body, timestamp or str(int(time.time())))
    if signature is not None:
        headers["X-Signature-Ed25519"] = signature
    return posted(path, body, headers)


def posted(url: str, body: bytes, headers: Mapping[str, str]) -> Any:
    given = {name: value for name, value in headers.items() if name != "Content-Type"}
    return Client().post(urlsplit(url).path, data=body, content_type="application/json", headers=given)


def _delivered(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    answer = posted(url, body, headers)
    return answer.status_code, answer.content


@cache
def definitions() -> list[dict[str, Any]]:
    return commands()


class DiscordService(Discord):
    """Discord with the API for interactions, servers and applications."""

    def __init__(self) -> None:
        super().__init__()
        self.interactions = Interactions(OURS, _delivered, utcnow)
        self.interactions.endpoint = INTERACTIONS
        self.portal = Portal(self.interactions, name="bees")
        self.portal.known.guilds[GUILD] = "Bee keepers"
        # How often a response arrives before Discord knows of the interaction.
        self.not_yet = 0

    @property
    def base(self) -> str:
        return f"{self.url}/api/v10"

    def usual(self, request: Request) -> Reply:
        place = request.place.removeprefix("/api/v10")
        ours = f"/webhooks/{APPLICATION}/"
        if place.startswith(ours):
            assert "authorization" not in request.headers
            self.not_yet -= 1
            if self.not_yet >= 0:
                return _reply(UNKNOWN_WEBHOOK)
            return _reply(self.interactions.webhook(_asked(request), place.removeprefix(ours)))
        if place.startswith(("/applications/", "/guilds/")):
            if request.headers.get("authorization") != f"Bot {BOT_TOKEN}":
                return Reply(401, {"message": "401: Unauthorized", "code": 0})
            if place == f"/guilds/{GUILD}/members/{BOT}":
                return Reply(body={"user": {"id": BOT}, "roles": [BOTS_ROLE], **self.about_bot})
            if place == f"/guilds/{GUILD}/roles":
                everybody = {"id": GUILD, "permissions": "0"}
                return Reply(body=[everybody, {"id": BOTS_ROLE, "permissions": str(BOTS_RIGHTS)}])
            return _reply(self.portal.answer(_asked(request), place))
        return super().usual(request)

    def posts(self, request: Request) -> bool:
        return super().posts(request) and "/channels/" in request.place


def _asked(request: Request) -> ApiRequest:
    return ApiRequest(request.method, request.path, request.headers, request.body)


def _reply(answer: ApiAnswer) -> Reply:
    return Reply(answer.status, b"" if answer.said is None else answer.said)


@dataclass
class DiscordClient:
    """One person in one channel of one server."""

    service: DiscordService
    guild: str = GUILD
    channel: str = CHANNEL
    person: str = PERSON
    permissions: str = MANAGE_SERVER
    roles: tuple[str, ...] = ()
    app_permissions: str = ALL
    locale: str = "en-US"
    channel_type: int = 0
    # The last interaction; its response may arrive later.
    exchange: Exchange | None = None
    is_on_message: bool = False

    def command(self, words: str, **options: Any) -> dict[str, Any]:
        """Run a command such as `/feed add`; return the immediate response."""
        return self.send(COMMAND, self._command(words, options))

    def typing(self, words: str, option: str, typed: str) -> list[dict[str, Any]]:
        data = self._command(words, {option: typed}, focused=option)
        payload = payloads.payload(AUTOCOMPLETE, data, member=self._member, place=self._place)
        found: list[dict[str, Any]] = self.service.interactions.send(payload).answer["data"]["choices"]
        return found

    def press(self, label: str) -> dict[str, Any]:
        """Press a button of the last message."""
        parts = payloads.parts_of(self.shown)
        (custom_id,) = [part["custom_id"] for part in parts if part.get("label") == label]
        return self.press_id(custom_id)

    def press_id(self, custom_id: str) -> dict[str, Any]:
        return self.send(COMPONENT, payloads.button_data(custom_id))

    def choose(self, *values: str, menu: str = "") -> dict[str, Any]:
        """Choose in the menu of the last message; `menu` selects one of several."""
        parts = [part for part in payloads.parts_of(self.shown) if part["type"] in MENUS]
        (part,) = [part for part in parts if f":{menu}" in part["custom_id"]]
        return self.send(COMPONENT, payloads.menu_data(part["custom_id"], *values, kind=part["type"]))

    def fill_in(self, **fields: str) -> dict[str, Any]:
        """Submit the last form."""
        form = self.exchange.form if self.exchange else None
        assert form is not None
        return self.send(MODAL, payloads.form_data(form, fields))

    def send(self, kind: int, data: dict[str, Any], number: str = "") -> dict[str, Any]:
        """Send an interaction. Raises NoAnswer if the response is invalid or too late."""
        # A form belongs to the message whose button opened it.
        self.is_on_message = kind == COMPONENT or (kind == MODAL and self.is_on_message)
        payload = payloads.payload(
            kind, data, member=self._member, place=self._place, is_on_message=self.is_on_message
        )
        self.exchange = self.service.interactions.send(payload, number=number or str(next(_ids)))
        return self.exchange.answer

    @property
    def token(self) -> str:
        assert self.exchange is not None
        return self.exchange.token

    @property
    def last(self) -> dict[str, Any]:
        assert self.exchange is not None
        return self.exchange.answer

    @property
    def shown(self) -> dict[str, Any]:
        """Return the message that is shown in the conversation."""
        assert self.exchange is not None
        assert self.exchange.message is not None, "nothing was said"
        return self.exchange.message

    @property
    def said(self) -> str:
        return str(self.shown["content"])

    @property
    def _member(self) -> payloads.Member:
        return payloads.Member(self.person, "ada", self.permissions, self.roles, self.locale)

    @property
    def _place(self) -> payloads.Place:
        return payloads.Place(self.guild, self.channel, self.app_permissions, self.channel_type)

    def _command(self, words: str, options: Mapping[str, Any], focused: str = "") -> dict[str, Any]:
        return payloads.command_data(definitions(), words, options, place=self._place, focused=focused)
