"""Discord as people and servers use it: a client that signs what it sends, and the API behind it.

It holds our answers to what the real one demands: kinds, lengths, three seconds, tokens of fifteen minutes.
"""

import itertools
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client

from tests.servers.api_server import Reply, Request
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD, Discord

APPLICATION, PERSON = "500000000000000005", "42"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
MANAGE_SERVER, ALL = "32", str(1 << 10 | 1 << 11 | 1 << 14 | 1 << 16 | 1 << 38)
INTERACTIONS, EVENTS = "/discord/interactions/", "/discord/events/"
ANSWER_SECONDS = 3.0
_ids = itertools.count(1_400_000_000_000_000_000)


def signed(body: bytes, timestamp: str) -> str:
    return KEY.sign(timestamp.encode() + body).hex()


def deliver(
    payload: Mapping[str, Any] | bytes,
    *,
    path: str = INTERACTIONS,
    timestamp: str = "",
    signature: str | None = None,
) -> Any:
    """What our server answers to a signed request; another signature may be given."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    stamp = timestamp or str(int(time.time()))
    headers = {
        "X-Signature-Ed25519": signed(body, stamp) if signature is None else signature,
        "X-Signature-Timestamp": stamp,
    }
    return Client().post(path, data=body, content_type="application/json", headers=headers)


class DiscordService(Discord):
    """The API for interactions, servers and applications, besides posting."""

    def __init__(self) -> None:
        super().__init__()
        self.guilds: dict[str, str] = {GUILD: "Bee keepers"}
        self.acknowledged: set[str] = set()
        self.expired: set[str] = set()
        # What stands in the conversation, by the interaction's token.
        self.replies: dict[str, dict[str, Any]] = {}
        self.commands: dict[str, list[dict[str, Any]]] = {}
        self.grants: list[dict[str, Any]] = []
        self.application: dict[str, Any] = {"id": APPLICATION, "verify_key": PUBLIC_KEY, "name": "bees"}
        # So many times the answer comes before Discord knows of the interaction.
        self.not_yet = 0

    @property
    def base(self) -> str:
        return f"{self.url}/api/v10"

    def usual(self, request: Request) -> Reply:
        place = request.place.removeprefix("/api/v10")
        if found := re.fullmatch(rf"/webhooks/{APPLICATION}/([^/]+)/messages/@original", place):
            return self._follow_up(found[1], request)
        if place.startswith(("/applications/", "/guilds/")):
            if request.headers.get("authorization") != f"Bot {BOT_TOKEN}":
                return Reply(401, {"message": "401: Unauthorized", "code": 0})
            return self._known(place, request)
        return super().usual(request)

    def posts(self, request: Request) -> bool:
        return super().posts(request) and "/channels/" in request.place

    def _follow_up(self, token: str, request: Request) -> Reply:
        assert "authorization" not in request.headers
        if self.not_yet:
            self.not_yet -= 1
            return Reply(404, {"message": "Unknown Webhook", "code": 10015})
        if token in self.expired:
            return Reply(401, {"message": "Invalid Webhook Token", "code": 50027})
        if token not in self.acknowledged:
            return Reply(404, {"message": "Unknown Webhook", "code": 10015})
        assert request.method == "PATCH"
        judge_message(request.json)
        self.replies[token] = request.json
        return Reply(body={"id": "1"})

    def _known(self, place: str, request: Request) -> Reply:
        if found := re.fullmatch(r"/guilds/(\d+)", place):
            if found[1] in self.guilds:
                return Reply(body={"id": found[1], "name": self.guilds[found[1]]})
            return Reply(404, {"message": "Unknown Guild", "code": 10004})
        if place == "/applications/@me":
            if request.method == "PATCH":
                self.application.update(request.json)
            return Reply(body=self.application)
        if place.endswith("/commands/permissions"):
            return Reply(body=self.grants)
        if re.fullmatch(rf"/applications/{APPLICATION}(/guilds/\d+)?/commands", place):
            if request.method == "PUT":
                judge_commands(request.json)
                self.commands[place] = [
                    {**one, "id": str(80 + number)} for number, one in enumerate(request.json)
                ]
            return Reply(body=self.commands.get(place, []))
        return Reply(404, {"message": "404: Not Found", "code": 0})


def judge_message(body: Mapping[str, Any]) -> None:
    """By https://discord.com/developers/docs/components/reference and the limits of messages."""
    assert body["allowed_mentions"] == {"parse": []}, "somebody may be called"
    assert 0 < len(body["content"]) <= 2000, len(body["content"])
    rows = body.get("components", [])
    assert len(rows) <= 5
    for row in rows:
        assert row["type"] == 1
        assert 0 < len(row["components"]) <= 5
        for part in row["components"]:
            assert 0 < len(part["custom_id"]) <= 100
            if part["type"] == 2:
                assert 0 < len(part["label"]) <= 80
                assert part["style"] in (1, 2, 3, 4)
            elif part["type"] == 6:
                assert len(part.get("default_values", [])) <= part["max_values"]
            else:
                assert part["type"] == 3
                chosen = [option for option in part["options"] if option.get("default")]
                assert len(chosen) <= part.get("max_values", 1) <= len(part["options"])
                assert 0 < len(part["options"]) <= 25
                for option in part["options"]:
                    assert 0 < len(option["label"]) <= 100
                    assert len(option.get("description", "x")) in range(1, 101)
                    assert 0 < len(option["value"]) <= 100


def judge_form(data: Mapping[str, Any]) -> None:
    assert 0 < len(data["custom_id"]) <= 100
    assert 0 < len(data["title"]) <= 45
    assert 0 < len(data["components"]) <= 5
    for row in data["components"]:
        (part,) = row["components"]
        assert part["type"] == 4
        assert 0 < len(part["label"]) <= 45
        assert len(part.get("value", "")) <= part["max_length"] <= 4000
        assert len(part.get("placeholder", "")) <= 100


def judge_commands(commands: list[dict[str, Any]]) -> None:
    """By https://discord.com/developers/docs/interactions/application-commands."""
    for command in commands:
        assert command["contexts"] == [0]
        assert command["integration_types"] == [0]
        parts = list(_parts(command))
        for part in parts:
            assert re.fullmatch(r"[-_'\w]{1,32}", part["name"])
            assert part["name"] == part["name"].lower()
            assert 0 < len(part["description"]) <= 100
            for language, words in part.get("description_localizations", {}).items():
                assert 0 < len(words) <= 100, (language, words)
            assert len(part.get("options", [])) <= 25
            assert len(part.get("choices", [])) <= 25
        texts = [part["name"] + part["description"] for part in parts]
        assert sum(map(len, texts)) <= 8000


def _parts(part: dict[str, Any]) -> Any:
    yield part
    for option in part.get("options", []):
        yield from _parts(option)


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
    # The token of the last interaction, whose answer may come later.
    token: str = ""
    last: dict[str, Any] = field(default_factory=dict)
    is_on_message: bool = False

    def command(self, words: str, **options: Any) -> dict[str, Any]:
        """`/feed add`, with its options; returns what is answered at once."""
        return self.send(2, self._command(words, options))

    def typing(self, words: str, option: str, typed: str) -> list[dict[str, Any]]:
        data = self._command(words, {option: typed})
        data["options"][0]["options"][0]["focused"] = True
        answered = self.send(4, data)
        assert answered["type"] == 8
        found: list[dict[str, Any]] = answered["data"]["choices"]
        assert len(found) <= 25
        for one in found:
            assert 0 < len(one["name"]) <= 100
        return found

    def press(self, label: str) -> dict[str, Any]:
        """Presses a button of the message that was shown last."""
        parts = [part for row in self.shown["components"] for part in row["components"]]
        (custom_id,) = [part["custom_id"] for part in parts if part.get("label") == label]
        return self.press_id(custom_id)

    def press_id(self, custom_id: str) -> dict[str, Any]:
        return self.send(3, {"custom_id": custom_id, "component_type": 2})

    def choose(self, *values: str, menu: str = "") -> dict[str, Any]:
        """Chooses in the menu of the message that was shown last; of several, the one of that act."""
        parts = [part for row in self.shown["components"] for part in row["components"]]
        (part,) = [part for part in parts if part["type"] in (3, 6) and f":{menu}" in part["custom_id"]]
        kind = part["type"]
        return self.send(3, {"custom_id": part["custom_id"], "component_type": kind, "values": [*values]})

    def fill_in(self, **fields: str) -> dict[str, Any]:
        """Sends the form that was shown last."""
        assert self.last["type"] == 9
        data = self.last["data"]
        names = {row["components"][0]["custom_id"]: row["components"][0] for row in data["components"]}
        values = {name: fields.get(name, part.get("value", "")) for name, part in names.items()}
        rows = [
            {"type": 1, "components": [{"type": 4, "custom_id": name, "value": value}]}
            for name, value in values.items()
        ]
        return self.send(5, {"custom_id": data["custom_id"], "components": rows})

    def send(self, kind: int, data: dict[str, Any], number: str = "") -> dict[str, Any]:
        number = number or str(next(_ids))
        if kind != 4:
            self.token = f"token-{number}"
            # A form is on the message whose button opened it.
            self.is_on_message = kind == 3 or (kind == 5 and self.is_on_message)
        began = time.monotonic()
        response = deliver(self.payload(kind, data, number))
        assert time.monotonic() - began < ANSWER_SECONDS
        assert response.status_code == 200, response.status_code
        answered: dict[str, Any] = response.json()
        self._judge(kind, answered)
        if kind != 4:
            self.last = answered
        return answered

    def payload(self, kind: int, data: dict[str, Any], number: str) -> dict[str, Any]:
        return {
            "id": number,
            "application_id": APPLICATION,
            "type": kind,
            "token": f"token-{number}",
            "guild_id": self.guild,
            "channel_id": self.channel,
            "channel": {"id": self.channel, "type": self.channel_type},
            "member": {
                "user": {"id": self.person, "username": "ada"},
                "roles": list(self.roles),
                "permissions": self.permissions,
            },
            "app_permissions": self.app_permissions,
            "locale": self.locale,
            "guild_locale": "en-US",
            "data": data,
            **({"message": {"id": "1"}} if self.is_on_message and kind in (3, 5) else {}),
        }

    @property
    def shown(self) -> dict[str, Any]:
        """The message that stands in the conversation."""
        if self.last["type"] in (5, 6):
            return self.service.replies[self.token]
        found: dict[str, Any] = self.last["data"]
        return found

    @property
    def said(self) -> str:
        return str(self.shown["content"])

    def _judge(self, kind: int, answered: dict[str, Any]) -> None:
        """Each kind of interaction takes some kinds of answers only."""
        allowed = {2: (4, 5, 9), 3: (4, 5, 6, 7, 9), 4: (8,), 5: (4, 5, 6, 7)}[kind]
        assert answered["type"] in allowed
        if answered["type"] in (4, 7):
            judge_message(answered["data"])
        if answered["type"] == 9:
            judge_form(answered["data"])
        if answered["type"] in (5, 6):
            self.service.acknowledged.add(self.token)

    def _command(self, words: str, options: Mapping[str, Any]) -> dict[str, Any]:
        name, act = words.split()
        given = [{"name": key, "type": 3, "value": value} for key, value in options.items()]
        channels = {
            str(value): {"id": str(value), "type": 0, "app_permissions": self.app_permissions}
            for key, value in options.items()
            if key in ("channel", "log_channel")
        }
        sub = {"name": act, "type": 1, "options": given}
        return {"id": "80", "name": name, "type": 1, "options": [sub], "resolved": {"channels": channels}}
