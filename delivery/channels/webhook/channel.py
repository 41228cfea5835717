"""The webhook channel: a signed call for each post, or one for a digest."""

import json
from collections.abc import Mapping

from delivery.channels.announcement import Announcement
from delivery.channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks, Shape
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

    def preview(self, message: PostsCall) -> Looks:
        """As Previews has it: the call's JSON, in lines."""
        if message.refusal:
            return Looks("", refusal=message.refusal)
        body = message.body("published", "…")
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
        return Looks(text, len(body), message.longest, shape=Shape.CODE, unit="bytes")

    def connect(self, lane: LaneFacts) -> WebhookSession:
        """The credentials come with each message."""
        return WebhookSession()
