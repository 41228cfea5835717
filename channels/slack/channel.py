"""The channels of incoming webhooks: a message for each post, or one for a digest."""

from collections.abc import Mapping

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks
from channels.bridge import BridgeChannel
from channels.http.outcomes import ApiService
from channels.letter import Recipient
from channels.slack.compose import (
    MOST_CHARACTERS,
    RoomPost,
    Writer,
    for_mattermost,
    for_rocketchat,
    for_slack,
    room_post_of,
)
from channels.slack.session import MATTERMOST, ROCKETCHAT, SLACK, IncomingWebhookSession


class IncomingWebhookChannel(BridgeChannel):
    # The service knows no key, and shows nobody what was posted.
    crash_policy = CrashPolicy.HOLD
    # Slack: "one message per second per channel".
    lane = LaneDefaults(spacing_seconds=2.0)
    service: ApiService
    write: Writer

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> RoomPost:
        return room_post_of(said, options, recipient, type(self).write)

    def preview(self, message: RoomPost) -> Looks:
        """As Previews has it. What counts is the text as it is written, markup included."""
        length = len(message.bodies[0]["text"]) if message.bodies else 0
        pictures = (message.picture,) if message.picture else ()
        return Looks(message.shown, length, MOST_CHARACTERS, message.refusal, pictures=pictures)

    def connect(self, lane: LaneFacts) -> IncomingWebhookSession:
        """The credentials come with each message."""
        return IncomingWebhookSession(self.service)


class SlackChannel(IncomingWebhookChannel):
    key = "slack"
    service = SLACK
    write = staticmethod(for_slack)


class MattermostChannel(IncomingWebhookChannel):
    key = "mattermost"
    service = MATTERMOST
    write = staticmethod(for_mattermost)


class RocketChatChannel(IncomingWebhookChannel):
    key = "rocketchat"
    service = ROCKETCHAT
    write = staticmethod(for_rocketchat)
