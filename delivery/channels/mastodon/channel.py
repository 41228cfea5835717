"""The Mastodon channel: a status for each post, or one for a digest."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from delivery.channels.announcement import Announcement
from delivery.channels.base import CrashPolicy, LaneDefaults, LaneFacts
from delivery.channels.bridge import BridgeChannel
from delivery.channels.mastodon.compose import Message, status_of
from delivery.channels.mastodon.session import MastodonSession
from delivery.letter import Recipient


class MastodonChannel(BridgeChannel):
    key = "mastodon"
    crash_policy = CrashPolicy.LOOK_UP
    # Far below 300 statuses in 3 hours, and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)

    def domain(self, core: str) -> str:
        """The instance's host, without a port."""
        return urlsplit(f"//{core}").hostname or ""

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return status_of(said, options, recipient)

    def connect(self, lane: LaneFacts) -> MastodonSession:
        """The credentials come with each message."""
        return MastodonSession()
