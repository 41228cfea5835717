from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.announcement import Announcement
from channels.letter import Recipient
from channels.wording import parts_of, usual_parts
from common.truncation import DoesNotFit, FittingPart, fit_parts

# Nobody reads longer pushes.
LONGEST_MESSAGE = 4_000
TOO_LONG = f"The link alone is longer than {LONGEST_MESSAGE:,} characters."


@dataclass(frozen=True, slots=True)
class GotifyPush:
    """JSON of https://gotify.net/api-docs#/message/createMessage. With a `refusal` there is none."""

    config: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any]
    picture: str = ""
    link: str = ""
    refusal: str = ""


def push_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> GotifyPush:
    """A click opens the link, so the default text omits it."""
    template = options.get("template", "")
    if template or said.own_words:
        parts = parts_of(said, template)
    else:
        more = "\n".join(f"• {line.title}" for line in said.lines) or said.summary
        parts = usual_parts(said, link=False)
        parts += [FittingPart("\n"), FittingPart(more, cuttable=True)] if more else []
    try:
        text = fit_parts(parts, lambda text: len(text) <= LONGEST_MESSAGE) if not said.refusal else ""
    except DoesNotFit:
        return GotifyPush(recipient.config, recipient.secrets, {}, refusal=TOO_LONG)
    picture = said.images[0].url if said.images and options.get("picture") != "no" else ""
    notification: dict[str, Any] = {"click": {"url": said.link}} if said.link else {}
    if picture:
        notification["bigImageUrl"] = picture
    body = {
        "title": said.newsletter_title,
        "message": text.encode("utf-8", "replace").decode(),
        "priority": int(options.get("priority") or 5),
        # Disables markup in posts.
        "extras": {
            "client::display": {"contentType": "text/plain"},
            "client::notification": notification,
        },
    }
    return GotifyPush(recipient.config, recipient.secrets, body, picture, said.link, said.refusal)
