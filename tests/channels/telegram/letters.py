"""Telegram recipients, and helpers that send to them."""

from collections.abc import Mapping
from typing import Any

from channels.announcement import announcement_of
from channels.base import NOTHING, Outcome
from channels.letter import Letter, Recipient
from channels.telegram.message import Message
from channels.telegram.session import TelegramChannel, TelegramSession
from tests.contracts.bridge import LOOPBACK, PATIENT, letter
from tests.contracts.channel import NOW
from tests.servers.services.telegram import CHAT, TOKEN

CHANNEL = TelegramChannel()


def recipient() -> Recipient:
    return Recipient(1, f"bees/{CHAT}", "Bees", config={"account": "bees", "chat_id": str(CHAT)})


def session(
    url: str, timeout: float = PATIENT, token: str = TOKEN, moved: Mapping[str, str] = NOTHING
) -> TelegramSession:
    return TelegramSession(token, moved=moved, base=url, session=LOOPBACK.session(), timeout=timeout)


def message(of: Letter | None = None, **options: Any) -> Message:
    return CHANNEL.message(announcement_of(of or letter()), options, recipient())


def send(url: str, what: Message, **arguments: Any) -> Outcome:
    opened = session(url)
    try:
        return opened.send(what, **{"key": "key-1", "begun_at": None, "now": NOW, **arguments})
    finally:
        opened.close()
