"""Discord recipients, and a fake Discord to post to, by a webhook and by a bot."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from channels.base import LaneFacts, Message
from channels.discord.bot import DiscordBotBridge
from channels.discord.bridge import DiscordBridge
from channels.discord.message import Post
from channels.letter import Letter, Recipient
from tests.contracts.bridge import ServiceCase, letter
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD, WEBHOOK, WEBHOOK_ID, Discord

PLACES = {"channel_id": CHANNEL, "guild_id": GUILD}


def webhook_recipient() -> Recipient:
    secrets = {"webhook_url": f"https://discord.com{WEBHOOK}"}
    return Recipient(1, WEBHOOK_ID, "Bees", config=PLACES, secrets=secrets)


def bots_recipient(channel_type: int = 0) -> Recipient:
    config = {**PLACES, "account": "bees", "channel_type": str(channel_type)}
    return Recipient(1, f"bees/{CHANNEL}", "#news", config=config)


def api_at(url: str) -> str:
    return f"{url}/api/v10"


def bots_message(of: Letter | None = None, channel_type: int = 0, **options: Any) -> Message[Post]:
    given = replace(of or letter(), options=options)
    return DiscordBotBridge().composer(given)(bots_recipient(channel_type))


class Hooked(ServiceCase):
    channel: ClassVar[Any] = DiscordBridge()
    made_by = Discord
    service: Discord

    def settings(self) -> dict[str, str]:
        return {"DISCORD_API_URL": api_at(self.url)}

    def recipient(self) -> Recipient:
        return webhook_recipient()

    def say(
        self,
        title: str = "T",
        *,
        newsletter: str = "bees",
        options: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Any:
        of = letter(title, newsletter=newsletter, newsletter_title=newsletter)
        return self.post(of, **(options or {}), **more)


class Botted(Hooked):
    channel = DiscordBotBridge()
    lane = LaneFacts("discord_bot", "bees", {"token": BOT_TOKEN})

    def recipient(self) -> Recipient:
        return bots_recipient(self.service.channel_type)
