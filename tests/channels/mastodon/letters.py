"""Letters for Mastodon, and a fake instance to send them to."""

from typing import Any, ClassVar

from channels.base import Message
from channels.letter import Letter, Recipient
from channels.mastodon.bridge import MastodonBridge
from channels.mastodon.message import Instance, Status, instances
from common.ttl_cache import TtlCache
from tests.contracts.bridge import LINK, ServiceCase, entry, recipient_of
from tests.contracts.bridge import letter as usual_letter
from tests.contracts.channel import RETRY_AFTER
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply

CHANNEL = MastodonBridge()
TOO_MANY = Reply(429, {"error": "Too many requests"}, {"Retry-After": str(int(RETRY_AFTER.total_seconds()))})
FIELDS = {"account": "bot", "instance_url": "https://fake.example", "access_token": TOKEN}
STATUSES = "/api/v1/statuses"


def letter(title: str = "A post", *, link: str = LINK, **fields: Any) -> Letter:
    return usual_letter(title, **{"entries": (entry(title, link=link),), **fields})


def recipient(url: str = "https://fake.example", token: str = TOKEN) -> Recipient:
    return recipient_of(CHANNEL, {**FIELDS, "instance_url": url, "access_token": token})


def message(title: str = "A post", *, url: str = "https://fake.example", **fields: Any) -> Message[Status]:
    return CHANNEL.composer(letter(title, **fields))(recipient(url))


class Tooting(ServiceCase):
    channel, made_by = CHANNEL, MastodonInstance
    given: ClassVar = {**FIELDS, "instance_url": "{url}"}
    service: MastodonInstance
    known: TtlCache[Instance] | None = None

    def connected(self, timeout: float, **lane: Any) -> Any:
        made = super().connected(timeout, **lane)
        made.known = self.known or instances()
        return made

    def toot(self, title: str = "A post", **fields: Any) -> Any:
        """Send a letter with those fields, or with those arguments of a session's `send`."""
        names = ("key", "begun_at", "now", "progress")
        sending = {name: fields.pop(name) for name in names if name in fields}
        return self.post(letter(title, **fields), **sending)

    @property
    def texts(self) -> str:
        return "\n".join(status["text"] for status in self.service.statuses)
