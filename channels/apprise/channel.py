"""The Apprise channel: a plain text for each post, or one for a digest."""

from collections.abc import Mapping

from channels.announcement import Announcement
from channels.apprise.compose import MOST_CHARACTERS, PlainMessage, plain_message_of
from channels.apprise.session import AppriseSession
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks
from channels.bridge import BridgeChannel
from channels.http.links import WORD_JOINER
from channels.letter import Recipient
from common.truncation import DoesNotFit, fit_parts


class AppriseChannel(BridgeChannel):
    key = "apprise"
    # It knows no key, and no service can be asked by it.
    crash_policy = CrashPolicy.HOLD
    # Its slowest services want five and a half seconds between messages.
    lane = LaneDefaults(spacing_seconds=6.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PlainMessage:
        return plain_message_of(said, options, recipient)

    def preview(self, message: PlainMessage) -> Looks:
        """As Previews has it. By our own limit; that of the service may be lower."""
        try:
            text = fit_parts(message.parts, lambda text: len(text) <= MOST_CHARACTERS)
        except DoesNotFit:
            return Looks("", refusal="The link alone is longer than what is posted.")
        return Looks(text.replace(WORD_JOINER, ""), len(text), MOST_CHARACTERS, message.refusal)

    def connect(self, lane: LaneFacts) -> AppriseSession:
        """The credentials come with each message."""
        return AppriseSession()
