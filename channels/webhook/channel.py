"""The webhook channel: a signed call for each post, or one for a digest."""

import json
from collections.abc import Mapping

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks, Shape
from channels.bridge import BridgeChannel
from channels.letter import Recipient
from channels.webhook.compose import PostsCall, posts_call_of
from channels.webhook.session import WebhookSession


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
