"""The Telegram contract against a fake server."""

from typing import ClassVar

from tests.channels.telegram.letters import Telegramming
from tests.contracts.bridge import LINK, BridgeContract
from tests.contracts.channel import Arrival
from tests.servers.api_server import Reply
from tests.servers.services.telegram import TOKEN, mentions


def no(status: int, description: str) -> Reply:
    return Reply(status, {"ok": False, "error_code": status, "description": description})


class TestTelegramContract(Telegramming, BridgeContract):
    refused = no(400, "Bad Request: message is too long")
    unauthorised = no(401, "Unauthorized")
    gone = no(403, "Forbidden: bot was kicked from the channel chat")
    shares_token: ClassVar[bool] = True
    secrets = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(one["message_id"]), one["shown"]) for one in self.service.messages]

    def acceptable(self, arrival: Arrival) -> bool:
        return bool(self.service.messages[-1]["links"] == [LINK])

    def is_harmless(self, text: str) -> bool:
        return not mentions(text)


class TestTelegramPhotosContract(TestTelegramContract):
    options: ClassVar = {"photo": "on"}
