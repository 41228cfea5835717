"""The Bluesky channel: a post for each post, or one for a digest."""

from collections.abc import Mapping

from delivery.channels.announcement import Announcement
from delivery.channels.base import CrashPolicy, LaneDefaults, LaneFacts
from delivery.channels.bluesky.compose import Message, message_of
from delivery.channels.bluesky.session import BlueskySession
from delivery.channels.bridge import BridgeChannel
from delivery.letter import Recipient


class BlueskyChannel(BridgeChannel):
    key = "bluesky"
    # A repetition has the same record key, and is the same post.
    crash_policy = CrashPolicy.RESEND
    # Far below 5,000 points an hour, of which a post costs two; and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return message_of(said, options, recipient)

    def connect(self, lane: LaneFacts) -> BlueskySession:
        """The password comes with each message, the tokens with the lane."""
        return BlueskySession(lane.state)
