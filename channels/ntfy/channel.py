"""The ntfy channel: a push for each post, or one for a digest."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks, Shape
from channels.bridge import BridgeChannel
from channels.http.measures import octets
from channels.letter import Recipient
from channels.ntfy.compose import LONGEST_MESSAGE, LONGEST_SEQUENCE_ID, Push, push_of
from channels.ntfy.session import NtfySession
from common.truncation import DoesNotFit


class NtfyChannel(BridgeChannel):
    key = "ntfy"
    # A server since 2.16 shows a repeated message in the place of the first.
    crash_policy = CrashPolicy.RESEND
    # ntfy.sh takes sixty messages at once, and then one every five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Push:
        return push_of(said, options, recipient)

    def preview(self, message: Push) -> Looks:
        """As Previews has it."""
        try:
            body = json.loads(message.body("0" * LONGEST_SEQUENCE_ID))
        except DoesNotFit:
            return Looks("", refusal="The link alone is longer than what ntfy takes.")
        return Looks(
            body["message"],
            octets(body["message"]),
            LONGEST_MESSAGE,
            message.refusal,
            shape=Shape.PUSH,
            title=body.get("title", ""),
            pictures=(body["attach"],) if "attach" in body else (),
            notes=tuple(_notes(body)),
            unit="bytes",
        )

    def connect(self, lane: LaneFacts) -> NtfySession:
        """The credentials come with each message."""
        return NtfySession()


def _notes(body: Mapping[str, Any]) -> Iterator[str]:
    if tags := body.get("tags"):
        yield f"Tags: {', '.join(tags)}"
    if link := body.get("click"):
        yield f"Opens {link}"
