"""Discord recipients, and helpers that send to them."""

from typing import Any

from channels.announcement import announcement_of
from channels.base import Outcome
from channels.bridge import OldBridgeChannel
from channels.discord.bot_session import BotSession
from channels.discord.channel import DiscordBotChannel, DiscordChannel
from channels.discord.message import Message
from channels.discord.session import WebhookSession
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


def webhook_session(url: str, timeout: float = PATIENT) -> WebhookSession:
    return WebhookSession(base=api_at(url), session=LOOPBACK.session(), timeout=timeout)


def bot_session(url: str, timeout: float = PATIENT, token: str = BOT_TOKEN) -> BotSession:
    return BotSession(token, base=api_at(url), session=LOOPBACK.session(), timeout=timeout)


def webhook_message(of: Letter | None = None, **options: Any) -> Message:
    made = of or letter()
    return _with(DiscordChannel(), made, options, webhook_recipient())


def bots_message(of: Letter | None = None, channel_type: int = 0, **options: Any) -> Message:
    return _with(DiscordBotChannel(), of or letter(), options, bots_recipient(channel_type))


def sent_by(session: Any, message: Message, **arguments: Any) -> Outcome:
    given: dict[str, Any] = {"key": "key-1", "begun_at": None, "now": NOW, **arguments}
    try:
        outcome: Outcome = session.send(message, **given)
        return outcome
    finally:
        session.close()


def _with(channel: OldBridgeChannel, of: Letter, options: dict[str, str], to: Recipient) -> Message:
    made: Message = channel.message(announcement_of(of), options, to)
    return made
