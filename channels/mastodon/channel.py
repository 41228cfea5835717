"""The Mastodon channel: a status for each post, or one for a digest."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks
from channels.bridge import BridgeChannel
from channels.http.measures import graphemes
from channels.http.priced_links import StatusLimits, status_length
from channels.letter import Recipient
from channels.mastodon.compose import Message, status_of
from channels.mastodon.session import MastodonSession
from common.truncation import DoesNotFit


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

    def preview(self, message: Message) -> Looks:
        """By the usual limits; the instance may have others. Of a thread the first status is measured."""
        limits, warning = StatusLimits(), message.spoiler
        try:
            texts = message.texts(limits)
        except DoesNotFit:
            return Looks("", refusal="The link alone is longer than what an instance takes.")
        length = status_length(texts[0], limits.per_url) + graphemes(warning)
        shown = "\n\n".join(filter(None, (warning, texts[0])))
        return Looks(
            shown,
            length,
            limits.characters,
            message.refusal,
            pictures=tuple(image.url for image in message.images),
            answers=tuple(texts[1:]),
            notes=("The pictures are hidden until somebody looks.",) if message.sensitive else (),
        )

    def connect(self, lane: LaneFacts) -> MastodonSession:
        """The credentials come with each message."""
        return MastodonSession()
