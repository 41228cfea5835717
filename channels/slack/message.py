"""Posts in Slack, Mattermost or Rocket.Chat."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from channels.announcement import Announcement, PostImage
from channels.http.links import WORD_JOINER
from channels.wording import listing_parts
from common.truncation import FittingPart

# Limits (16,383) are higher, but a chat is no place for more.
MOST_CHARACTERS = 3_000
# Slack refuses blocks from about 13,200 characters on.
MOST_IN_BLOCKS = 12_000
MOST_TITLES = 20
MOST_ALT = 2_000
MOST_IMAGE_URL = 3_000

# Mattermost has escapes for these; it shows html unchanged.
_MATTERMOST = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>])")
_ROCKETCHAT = re.compile(r"([*_~`#])")
# Rocket.Chat has no escape for links, quotes, formulas and spoilers.
_ROCKETCHAT_MORE = re.compile(r"([\\\[\]<>|$!])")

JsonBody = Mapping[str, Any]
Writer = Callable[[Sequence[FittingPart], PostImage | None], Sequence[JsonBody]]


@dataclass(frozen=True, slots=True)
class RoomPost:
    """`bodies` are JSON, the plainest last. `shown` and `picture` are visible to people."""

    bodies: tuple[JsonBody, ...]
    shown: str
    picture: str = ""


def room_post_of(post: Announcement, options: Mapping[str, str], write: Writer) -> RoomPost:
    """`write` formats parts for the service, the plainest body last. Raises DoesNotFit."""
    picture = post.images[0] if post.images and options.get("picture") != "no" else None
    parts = listing_parts(
        post,
        options.get("template", ""),
        lambda pieces: _fits(write(pieces, picture)),
        titles=(MOST_TITLES, 5, 0),
    )
    bodies = tuple(write(parts, picture))
    # Other services fetch a picture themselves, perhaps a different one.
    address = picture.url if picture and any("blocks" in body for body in bodies) else ""
    return RoomPost(bodies, "".join(part.text for part in parts), address)


def _fits(bodies: Sequence[JsonBody]) -> bool:
    return all(
        len(body["text"]) <= MOST_CHARACTERS and len(str(body.get("blocks", ""))) <= MOST_IN_BLOCKS
        for body in bodies
    )


def for_slack(parts: Sequence[FittingPart], picture: PostImage | None) -> Sequence[JsonBody]:
    """Return blocks without markup, with a text for notifications.

    Slack refuses a picture that it cannot fetch. "mrkdwn" is false so that the text has no formatting.
    """
    text = "".join(_in_slack(part) for part in parts)
    elements = [
        {"type": "link", "url": part.link, **({} if part.text == part.link else {"text": part.text})}
        if part.link
        else {"type": "text", "text": part.text}
        for part in parts
        if part.text
    ]
    section = {"type": "rich_text_section", "elements": elements}
    blocks: list[dict[str, Any]] = [{"type": "rich_text", "elements": [section]}]
    plain = {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    bodies = [{**plain, "blocks": blocks}, plain]
    if picture and len(picture.url) <= MOST_IMAGE_URL:
        alt = picture.alt[:MOST_ALT] or "Picture"
        image = {"type": "image", "image_url": picture.url, "alt_text": alt}
        bodies.insert(0, {**plain, "blocks": [*blocks, image]})
    return bodies


def _in_slack(part: FittingPart) -> str:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    if not part.link:
        return escaped(part.text)
    label = "" if part.text == part.link else "|" + escaped(part.text).replace("|", "¦")
    return f"<{escaped(part.link).replace('|', '%7C')}{label}>"


def for_mattermost(parts: Sequence[FittingPart], picture: PostImage | None) -> Sequence[JsonBody]:
    """The server fetches a picture from the link."""

    def written(text: str) -> str:
        return _MATTERMOST.sub(r"\\\1", _unmentioned(text))

    return ({"text": _marked(parts, written)},)


def for_rocketchat(parts: Sequence[FittingPart], picture: PostImage | None) -> Sequence[JsonBody]:
    """Some signs have escapes, others get an invisible joiner."""

    def written(text: str) -> str:
        apart = _ROCKETCHAT_MORE.sub(rf"\1{WORD_JOINER}", _unmentioned(text))
        return _ROCKETCHAT.sub(r"\\\1", apart)

    return ({"text": _marked(parts, written)},)


def _marked(parts: Sequence[FittingPart], written: Callable[[str], str]) -> str:
    return "".join(
        written(part.text)
        if not part.link
        else part.link
        if part.text == part.link
        # A bracket in the URL would end it.
        else f"[{written(part.text)}]({part.link.replace('(', '%28').replace(')', '%29')})"
        for part in parts
        if part.text
    )


def _unmentioned(text: str) -> str:
    return text.replace("@", f"@{WORD_JOINER}")
