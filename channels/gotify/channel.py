"""The Gotify channel: a push for each post, or one for a digest."""

from collections.abc import Mapping

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks, Shape
from channels.bridge import BridgeChannel
from channels.gotify.compose import LONGEST_MESSAGE, GotifyPush, push_of
from channels.gotify.session import GotifySession
from channels.letter import Recipient


class GotifyChannel(BridgeChannel):
    key = "gotify"
    # An application's token cannot ask what was posted with it.
    crash_policy = CrashPolicy.HOLD
    lane = LaneDefaults(spacing_seconds=1.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> GotifyPush:
        return push_of(said, options, recipient)

    def preview(self, message: GotifyPush) -> Looks:
        """As Previews has it."""
        text = message.body.get("message", "")
        return Looks(
            text,
            len(text),
            LONGEST_MESSAGE,
            message.refusal,
            shape=Shape.PUSH,
            title=message.body.get("title", ""),
            pictures=(message.picture,) if message.picture else (),
            notes=(f"Opens {message.link}",) if message.link else (),
        )

    def connect(self, lane: LaneFacts) -> GotifySession:
        """The token comes with each message."""
        return GotifySession()
