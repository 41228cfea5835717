"""The Apprise channel: a plain text for each post, or one for a digest."""

from collections.abc import Mapping

from delivery.channels.announcement import Announcement
from delivery.channels.apprise.compose import PlainMessage, plain_message_of
from delivery.channels.apprise.session import AppriseSession
from delivery.channels.base import CrashPolicy, LaneDefaults, LaneFacts
from delivery.channels.bridge import BridgeChannel
from delivery.letter import Recipient


class AppriseChannel(BridgeChannel):
    key = "apprise"
    # It knows no key, and no service can be asked by it.
    crash_policy = CrashPolicy.HOLD
    # Its slowest services want five and a half seconds between messages.
    lane = LaneDefaults(spacing_seconds=6.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PlainMessage:
        return plain_message_of(said, options, recipient)

    def connect(self, lane: LaneFacts) -> AppriseSession:
        """The credentials come with each message."""
        return AppriseSession()
