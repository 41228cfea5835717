import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from channels.announcement import Announcement
from channels.http.links import WORD_JOINER
from channels.letter import Recipient
from channels.wording import parts_of
from common.truncation import FittingPart

MOST_CHARACTERS = 2_000
# Mentions, and beginnings of Markdown or bracketed links.
_SIGNS = re.compile(r"@|<|\](?=[(\[])")


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """Not yet cut to its service's limit. With a `refusal` there is none."""

    secrets: Mapping[str, str] = field(repr=False)
    parts: tuple[FittingPart, ...]
    refusal: str = ""


def plain_message_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PlainMessage:
    """Break mentions by an invisible joiner."""
    parts = (
        part if part.link else replace(part, text=_SIGNS.sub(rf"\g<0>{WORD_JOINER}", part.text))
        for part in parts_of(said, options.get("template", ""))
    )
    return PlainMessage(recipient.secrets, tuple(parts), said.refusal)
