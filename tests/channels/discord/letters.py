"""Discord recipients, and helpers that send to them."""

from dataclasses import replace
from typing import Any

from channels.base import LaneFacts, Message, Outcome
from channels.discord.bot import DiscordBotBridge
from channels.discord.bridge import DiscordBridge
from channels.discord.message import Post
from channels.letter import Letter, Recipient
from tests.contracts.bridge import LOOPBACK, PATIENT, letter
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


def served_at(made: Any, url: str) -> Any:
    """Return the session with another address of its service."""
    made.address = lambda to: api_at(url)
    return made


def webhook_session(url: str, timeout: float = PATIENT) -> Any:
    return served_at(DiscordBridge(session=LOOPBACK.session(), timeout=timeout), url)


def bot_session(url: str, timeout: float = PATIENT, token: str = BOT_TOKEN) -> Any:
    lane = LaneFacts("discord_bot", "bees", {"token": token})
    return served_at(DiscordBotBridge(lane, session=LOOPBACK.session(), timeout=timeout), url)


def webhook_message(of: Letter | None = None, **options: Any) -> Message[Post]:
    return DiscordBridge().composer(replace(of or letter(), options=options))(webhook_recipient())


def bots_message(of: Letter | None = None, channel_type: int = 0, **options: Any) -> Message[Post]:
    return message_to(bots_recipient(channel_type), of, **options)


def message_to(to: Recipient, of: Letter | None = None, **options: Any) -> Message[Post]:
    return DiscordBotBridge().composer(replace(of or letter(), options=options))(to)


def sent_by(session: Any, message: Message[Post], **arguments: Any) -> Outcome:
    given: dict[str, Any] = {"key": "key-1", "begun_at": None, "now": NOW, **arguments}
    try:
        outcome: Outcome = session.send(message, **given)
        return outcome
    finally:
        session.close()
