"""The Web Push channel: notifications on the devices of readers."""

from collections.abc import Callable, Mapping
from email.utils import parseaddr

from django.conf import settings

from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks
from channels.letter import Letter, Recipient
from channels.rules.breakers import Breaker
from channels.webpush.compose import Notification, notifier
from channels.webpush.encryption import LONGEST_PUSH
from channels.webpush.keys import private_key_of
from channels.webpush.session import WebPushSession, topic_of

# The one account, which has the key. No account that an admin adds may have a capital.
DEVICES = "Devices"


class WebPushChannel:
    """One lane for all devices; a push service is a domain of theirs."""

    key = "webpush"
    # A second push replaces the first: by its topic at the push service, by its tag on the device.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults(serial=False, concurrency=10)
    account_lane: LaneDefaults | None = None
    breaker: Breaker | None = None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return DEVICES

    def shared_account(self, core: str) -> str:
        """Its lane is the account itself."""
        return ""

    def domain(self, core: str) -> str:
        """The host of the push service."""
        return core.rpartition("@")[2]

    def compose(self, letter: Letter, recipient: Recipient) -> Notification:
        return notifier(letter)(recipient)

    def composer(self, letter: Letter) -> Callable[[Recipient], Notification]:
        return notifier(letter)

    def preview(self, message: Notification) -> Looks:
        payload = message.payload(topic_of(""))
        return Looks(
            text=f"{message.title}\n{message.text}",
            length=len(payload),
            limit=LONGEST_PUSH,
            refusal=message.refusal,
        )

    def sessions(self, lane: LaneFacts) -> None:
        """Its sessions block."""
        return

    def connect(self, lane: LaneFacts) -> WebPushSession:
        """The endpoint comes with each message."""
        number = lane.credentials.get("private", "")
        return WebPushSession(private=private_key_of(number) if number else None, subject=subject())


def subject() -> str:
    """Whom a push service asks about our pushes (RFC 8292 §2.1)."""
    return f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
