"""The SMS channel: a text message for each post, or one for a digest."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from django.conf import settings

from channels.base import CrashPolicy, LaneDefaults, LaneFacts
from channels.letter import Letter, Recipient
from channels.rules.breakers import Breaker
from channels.sms.compose import TextMessage, sms_of, to_recipient
from channels.sms.session import SmsSession


class SmsChannel:
    """One Twilio account carries all messages of the newsletters that name it."""

    key = "sms"
    # Twilio knows no key, but can be asked which messages it took.
    crash_policy = CrashPolicy.LOOK_UP
    # Twilio queues what is more than a number may send; the caps keep a mistake from becoming a bill.
    lane = LaneDefaults(serial=False, concurrency=5, rate=10.0, per_day=1_000, per_recipient=10)
    account_lane: LaneDefaults | None = None
    breaker: Breaker | None = None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return options.get("account", "")

    def shared_account(self, core: str) -> str:
        """Its lanes are accounts themselves."""
        return ""

    def domain(self, core: str) -> str:
        return ""

    def compose(self, letter: Letter, recipient: Recipient) -> TextMessage:
        return self.composer(letter)(recipient)

    def composer(self, letter: Letter) -> Callable[[Recipient], TextMessage]:
        message = sms_of(letter)
        return lambda recipient: to_recipient(message, recipient)

    def sessions(self, lane: LaneFacts) -> None:
        """Its sessions block."""
        return

    def connect(self, lane: LaneFacts) -> SmsSession:
        return SmsSession(lane.credentials, callback=callback_of(lane.account))


def callback_of(account: str) -> str:
    """Where Twilio tells what became of an account's messages, without the delivery's number; empty where
    it could not reach this site (it refuses such an address, 21609)."""
    host = urlsplit(settings.SITE_URL).hostname or ""
    is_reachable = "." in host and not host.replace(".", "").isdigit()
    return f"{settings.SITE_URL}/sms/{account}/status/" if is_reachable else ""
