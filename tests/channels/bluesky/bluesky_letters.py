"""Letters for Bluesky, and a fake server to send them to."""

from collections.abc import Callable
from typing import Any, ClassVar

from channels.base import LaneFacts, Message
from channels.bluesky.bridge import BlueskyBridge
from channels.bluesky.message import Thread
from channels.letter import Recipient
from common.pictures.picture import CleanPicture
from tests.contracts.bridge import ServiceCase, closed_port, letter
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD, BlueskyServer

CHANNEL = BlueskyBridge()


def recipient(url: str = "https://pds.example", *, pds: str = "") -> Recipient:
    config = {"handle": HANDLE, "did": DID, "service_url": url, "pds": pds or url}
    return Recipient(1, DID, f"@{HANDLE}", config=config, secrets={"app_password": PASSWORD})


def message(title: str = "A post", **fields: Any) -> Message[Thread]:
    return CHANNEL.composer(letter(title, **fields))(recipient())


class Skeeting(ServiceCase):
    channel, made_by = CHANNEL, BlueskyServer
    given: ClassVar = {"handle": HANDLE, "app_password": PASSWORD, "service_url": "{url}"}
    lane = LaneFacts("bluesky", DID)
    picture_of: Callable[[str], CleanPicture | None] = staticmethod(lambda _: None)
    plc = ""
    service: BlueskyServer

    def connected(self, timeout: float, **lane: Any) -> Any:
        made = super().connected(timeout, **lane)
        made.picture_of, made.plc = self.picture_of, self.plc or closed_port()
        return made

    def recipient(self) -> Recipient:
        return recipient(self.url)
