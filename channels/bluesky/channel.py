"""The Bluesky channel: a post for each post, or one for a digest."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, LinkCard, Looks
from channels.bluesky.compose import Message, message_of
from channels.bluesky.richtext import MOST_GRAPHEMES, MOST_OCTETS
from channels.bluesky.session import BlueskySession
from channels.bridge import BridgeChannel
from channels.http.measures import graphemes, octets
from channels.letter import Recipient


class BlueskyChannel(BridgeChannel):
    key = "bluesky"
    # A repetition has the same record key, and is the same post: no number of them makes two.
    crash_policy = CrashPolicy.LOOK_UP
    # Far below 5,000 points an hour, of which a post costs two; and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return message_of(said, options, recipient)

    def preview(self, message: Message) -> Looks:
        """As Previews has it: of the two limits that a post has, by the one that it is nearer to."""
        if message.refusal:
            return Looks("", refusal=message.refusal)
        first, *others = message.posts
        text, embed = first.record["text"], first.record.get("embed")
        measures = ((graphemes, MOST_GRAPHEMES, ""), (octets, MOST_OCTETS, "bytes"))
        measure, most, unit = max(measures, key=lambda one: one[0](text) / one[1])
        return Looks(
            text,
            measure(text),
            most,
            unit=unit,
            card=_card(embed["external"], first.picture) if embed else None,
            answers=tuple(post.record["text"] for post in others),
            notes=tuple(_notes(first.record)),
        )

    def connect(self, lane: LaneFacts) -> BlueskySession:
        """The password comes with each message, the tokens with the lane."""
        return BlueskySession(lane.state)


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    if tags := record.get("tags"):
        yield "Found by " + " ".join(f"#{tag}" for tag in tags)
    if labels := record.get("labels"):
        yield "Warning: " + ", ".join(label["val"] for label in labels["values"])


def _card(external: Mapping[str, Any], picture: str) -> LinkCard:
    host = urlsplit(external["uri"]).hostname or ""
    return LinkCard(external["title"], external["description"], host, picture)
