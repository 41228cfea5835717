import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from channels.announcement import Announcement
from channels.http.measures import octets
from channels.letter import Recipient
from channels.wording import parts_of, usual_parts
from common.truncation import FittingPart, fit_parts

# In octets: a longer message becomes a text file, a longer body is refused (41303).
LONGEST_MESSAGE = 4_096
LONGEST_SEQUENCE_ID = 64
LONGEST_BODY = 2 * LONGEST_MESSAGE


@dataclass(frozen=True, slots=True)
class Push:
    """`fields` are ntfy's, without the text. With a `refusal` there is nothing to send."""

    config: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    parts: tuple[FittingPart, ...]
    fields: Mapping[str, Any]
    refusal: str = ""

    def body(self, sequence_id: str, *, most: int = LONGEST_MESSAGE, picture: bool = True) -> bytes:
        """Raises DoesNotFit."""
        fields = {name: value for name, value in self.fields.items() if picture or name != "attach"}

        def written(text: str) -> bytes:
            whole = {**fields, "sequence_id": sequence_id, "message": text}
            return json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")

        return written(
            fit_parts(self.parts, lambda text: octets(text) <= most and len(written(text)) <= LONGEST_BODY)
        )


def push_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Push:
    """A click opens the link, so the default text omits it."""
    template, tags = options.get("template", ""), options.get("tags", "")
    if template or said.own_words:
        parts = parts_of(said, template)
    else:
        more = "\n".join(f"• {line.title}" for line in said.lines) or said.summary
        parts = usual_parts(said, link=False)
        parts += [FittingPart("\n"), FittingPart(more, cuttable=True)] if more else []
    fields: dict[str, Any] = {
        "topic": recipient.config.get("topic", ""),
        "title": said.newsletter_title,
        "click": said.link or None,
        "tags": tags.split(",") if tags else None,
        "priority": int(options.get("priority") or 0) or None,
        "attach": said.images[0].url if said.images and options.get("picture") != "no" else None,
    }
    return Push(
        config=recipient.config,
        secrets=recipient.secrets,
        parts=tuple(parts),
        fields={name: value for name, value in fields.items() if value is not None},
        refusal=said.refusal,
    )


def sequence_id_of(key: str) -> str:
    """Ntfy allows 64 letters, digits, dashes and underscores; equal ids replace."""
    return (
        key
        if re.fullmatch(rf"[-_A-Za-z0-9]{{1,{LONGEST_SEQUENCE_ID}}}", key)
        else sha256(key.encode()).hexdigest()
    )
