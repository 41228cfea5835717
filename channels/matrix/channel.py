"""The Matrix channel: a notice for each post, or one for a digest."""

from collections.abc import Mapping

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks
from channels.bridge import BridgeChannel
from channels.http.links import shown_text
from channels.letter import Recipient
from channels.matrix.compose import LONGEST_CONTENT, Notice, notice_of, size_of
from channels.matrix.session import MatrixSession


class MatrixChannel(BridgeChannel):
    key = "matrix"
    crash_policy = CrashPolicy.LOOK_UP
    # A server's usual limit for messages is one in five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Notice:
        return notice_of(said, options, recipient)

    def preview(self, message: Notice) -> Looks:
        """As Previews has it. What counts is the event, which has the words twice."""
        words = shown_text(message.html.replace("<br>", "\n"))
        return Looks(words, size_of(message), LONGEST_CONTENT, message.refusal, unit="bytes")

    def connect(self, lane: LaneFacts) -> MatrixSession:
        """The credentials come with each message."""
        return MatrixSession()
