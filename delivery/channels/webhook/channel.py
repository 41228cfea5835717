"""The webhook channel: a signed call for each post, or one for a digest."""

from collections.abc import Mapping

from delivery.channels.announcement import Announcement
from delivery.channels.base import CrashPolicy, LaneDefaults, LaneFacts
from delivery.channels.bridge import BridgeChannel
from delivery.channels.webhook.compose import PostsCall, posts_call_of
from delivery.channels.webhook.session import WebhookSession
from delivery.letter import Recipient


class WebhookChannel(BridgeChannel):
    key = "webhook"
    # The receiver knows a repeated call by its webhook-id.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults()

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PostsCall:
        return posts_call_of(said, options, recipient)

    def connect(self, lane: LaneFacts) -> WebhookSession:
        """The credentials come with each message."""
        return WebhookSession()
