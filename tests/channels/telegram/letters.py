"""Telegram's recipient, and calls to a fake server."""

from dataclasses import replace
from typing import Any, ClassVar

from channels.base import LaneFacts, Message
from channels.letter import Letter, Recipient
from channels.telegram.bridge import TelegramBridge
from channels.telegram.message import Body
from tests.contracts.bridge import ServiceCase, letter
from tests.servers.services.telegram import CHAT, NAME, TOKEN, Telegram

CHANNEL = TelegramBridge()
BEES = Recipient(1, f"bees/{CHAT}", "Bees", config={"account": "bees", "chat_id": str(CHAT)})


class Telegramming(ServiceCase):
    channel, made_by = CHANNEL, Telegram
    given: ClassVar = {"account": "bees", "chat": f"@{NAME}"}
    lane = LaneFacts("telegram", "bees", {"token": TOKEN})
    service: Telegram

    def settings(self) -> dict[str, str]:
        return {"TELEGRAM_API_URL": self.url}

    def recipient(self) -> Recipient:
        return BEES


def message(of: Letter | None = None, **options: Any) -> Message[Body]:
    given = of or letter()
    made: Message[Body] = CHANNEL.compose(replace(given, options=options), BEES)
    return made
