"""Telegram recipients, and helpers that send to them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from channels.base import NOTHING, LaneFacts, Message, Outcome
from channels.letter import Letter, Recipient
from channels.telegram.message import Body
from channels.telegram.session import TelegramChannel, TelegramSession
from tests.contracts.bridge import LOOPBACK, PATIENT, letter, served_at
from tests.contracts.channel import NOW
from tests.servers.services.telegram import CHAT, TOKEN

CHANNEL = TelegramChannel()


def recipient() -> Recipient:
    return Recipient(1, f"bees/{CHAT}", "Bees", config={"account": "bees", "chat_id": str(CHAT)})


def session(
    url: str, timeout: float = PATIENT, token: str = TOKEN, moved: Mapping[str, str] = NOTHING
) -> TelegramSession:
    lane = LaneFacts("telegram", "bees", {"token": token}, state=moved)
    return served_at(TelegramSession, url)(lane, session=LOOPBACK.session(), timeout=timeout)


def message(of: Letter | None = None, **options: Any) -> Message[Body]:
    return CHANNEL.composer(replace(of or letter(), options=options))(recipient())


def send(url: str, what: Message[Body], **arguments: Any) -> Outcome:
    opened = session(url)
    try:
        return opened.send(what, **{"key": "key-1", "begun_at": None, "now": NOW, **arguments})
    finally:
        opened.close()
