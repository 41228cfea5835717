"""An announcement as a status. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from common.truncation import FittingPart, plain_line
from delivery.channels.announcement import Announcement
from delivery.channels.http.links import MENTION
from delivery.channels.mastodon.kind import VISIBILITIES
from delivery.channels.wording import parts_of
from delivery.letter import Recipient

WORD_JOINER = "\u2060"


@dataclass(frozen=True, slots=True)
class Message:
    """A status yet to be fitted to its instance. With a `refusal` there is nothing to post."""

    instance_url: str
    access_token: str = field(repr=False)
    parts: tuple[FittingPart, ...] = ()
    link: str = ""
    visibility: str = "public"
    language: str = ""
    spoiler: str = ""
    refusal: str = ""

    @property
    def beginning(self) -> str:
        """What the status begins with, unless the instance takes very little."""
        return "".join(part.text for part in self.parts)


def status_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
    """The status of a post or a digest. It mentions nobody: `@someone` is broken with an invisible joiner."""
    parts = parts_of(said, options.get("template", ""))
    return Message(
        instance_url=recipient.config.get("instance_url", ""),
        access_token=recipient.secrets.get("access_token", ""),
        parts=tuple(part if part.link else replace(part, text=unmentioned(part.text)) for part in parts),
        link=said.link,
        visibility=options.get("visibility") or next(iter(VISIBILITIES)),
        language=said.language,
        spoiler=unmentioned(plain_line(options.get("spoiler", ""))),
        refusal=said.refusal,
    )


def unmentioned(text: str) -> str:
    return MENTION.sub(f"@{WORD_JOINER}", text)
