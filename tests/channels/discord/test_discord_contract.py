"""The Discord contract against a fake server, by a webhook and by a bot."""

from typing import ClassVar

import pytest

from tests.channels.discord.letters import Botted, Hooked
from tests.contracts.bridge import LINK, BridgeContract
from tests.contracts.channel import Arrival
from tests.servers.api_server import Reply
from tests.servers.services.discord import BOT_TOKEN, TOKEN, is_plain, shown

INVALID = Reply(400, {"message": "Invalid Form Body", "code": 50035})


class TestDiscordContract(Hooked, BridgeContract):
    refused = INVALID
    token_is_address = True
    unauthorised = Reply(401, {"message": "Invalid Webhook Token", "code": 50027})
    gone = Reply(404, {"message": "Unknown Webhook", "code": 10015})
    secrets: ClassVar[tuple[str, ...]] = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(message["id"], shown(message)) for message in self.service.messages]

    def acceptable(self, arrival: Arrival) -> bool:
        return LINK in arrival.text

    def is_harmless(self, text: str) -> bool:
        message, bare = self.service.messages[-1], self.options.get("style") in ("text", "compact")
        cards = message["embeds"]
        return is_plain(message["content"], bare=bare) and all(
            is_plain(card[name]) for card in cards for name in ("title", "description") if name in card
        )


class TestCompactDiscordContract(TestDiscordContract):
    options: ClassVar = {"style": "compact"}


class TestDiscordBotContract(Botted, TestDiscordContract):
    options: ClassVar = {"style": "text"}
    unauthorised = Reply(401, {"message": "401: Unauthorized", "code": 0})
    gone = Reply(404, {"message": "Unknown Channel", "code": 10003})
    shares_token: ClassVar[bool] = True
    secrets: ClassVar[tuple[str, ...]] = (BOT_TOKEN,)


class TestNamedDiscordBotContract(TestDiscordBotContract):
    """Under another name, by the webhook that the bot has in the channel."""

    options: ClassVar = {"sender_name": "The Hive", "sender_picture": "https://bees.example/hive.png"}
    secrets = (BOT_TOKEN, TOKEN)

    def test_the_same_key_twice_is_one_message(self) -> None:
        pytest.skip("Webhooks have no nonce; a try whose end is unknown is looked up.")
