"""Discord recipients, and helpers that send to them."""

from dataclasses import replace
from typing import Any

from channels.base import LaneFacts, Message, Outcome
from channels.discord.bot_session import BotSession
from channels.discord.channel import DiscordBotChannel, DiscordChannel
from channels.discord.message import Post
from channels.discord.session import WebhookSession
from channels.letter import Letter, Recipient
from tests.contracts.bridge import LOOPBACK, PATIENT, letter, served_at
from tests.contracts.channel import NOW
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD, WEBHOOK, WEBHOOK_ID

PLACES = {"channel_id": CHANNEL, "guild_id": GUILD}


def webhook_recipient() -> Recipient:
    secrets = {"webhook_url": f"https://discord.com{WEBHOOK}"}
    return Recipient(1, WEBHOOK_ID, "Bees", config=PLACES, secrets=secrets)


def bots_recipient(channel_type: int = 0) -> Recipient:
    config = {**PLACES, "account": "bees", "channel_type": str(channel_type)}
    return Recipient(1, f"bees/{CHANNEL}", "#news", config=config)


def api_at(url: str) -> str:
    return f"{url}/api/v10"


def webhook_session(url: str, timeout: float = PATIENT) -> WebhookSession:
    return served_at(WebhookSession, api_at(url))(session=LOOPBACK.session(), timeout=timeout)


def bot_session(url: str, timeout: float = PATIENT, token: str = BOT_TOKEN) -> BotSession:
    lane = LaneFacts("discord_bot", "bees", {"token": token})
    return served_at(BotSession, api_at(url))(lane, session=LOOPBACK.session(), timeout=timeout)


def webhook_message(of: Letter | None = None, **options: Any) -> Message[Post]:
    return DiscordChannel().composer(replace(of or letter(), options=options))(webhook_recipient())


def bots_message(of: Letter | None = None, channel_type: int = 0, **options: Any) -> Message[Post]:
    return message_to(bots_recipient(channel_type), of, **options)


def message_to(to: Recipient, of: Letter | None = None, **options: Any) -> Message[Post]:
    return DiscordBotChannel().composer(replace(of or letter(), options=options))(to)


def sent_by(session: Any, message: Message[Post], **arguments: Any) -> Outcome:
    given: dict[str, Any] = {"key": "key-1", "begun_at": None, "now": NOW, **arguments}
    try:
        outcome: Outcome = session.send(message, **given)
        return outcome
    finally:
        session.close()
