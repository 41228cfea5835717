"""The ntfy channel: a push for each post, or one for a digest."""

from collections.abc import Mapping

from delivery.channels.announcement import Announcement
from delivery.channels.base import CrashPolicy, LaneDefaults, LaneFacts
from delivery.channels.bridge import BridgeChannel
from delivery.channels.ntfy.compose import Push, push_of
from delivery.channels.ntfy.session import NtfySession
from delivery.letter import Recipient


class NtfyChannel(BridgeChannel):
    key = "ntfy"
    # A server since 2.16 shows a repeated message in the place of the first.
    crash_policy = CrashPolicy.RESEND
    # ntfy.sh takes sixty messages at once, and then one every five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Push:
        return push_of(said, options, recipient)

    def connect(self, lane: LaneFacts) -> NtfySession:
        """The credentials come with each message."""
        return NtfySession()
