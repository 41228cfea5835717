import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from channels.announcement import Announcement
from channels.http.links import WORD_JOINER, utf16_units
from channels.wording import headline, parts_of, text_of_unlinked
from common.truncation import FittingPart, fitted

# In UTF-16 units of the visible text.
TEXT_LIMIT, CAPTION_LIMIT = 4_096, 1_024
# At most 100 entities, such as links.
DIGEST_LINES = 50
UNTITLED = "New Untitled Post"
# Also at the end of a part: another part follows.
_MENTION = re.compile(r"(?<!\w)@(?=\w|\Z)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Body:
    """`text` and `caption` are html, `plain` is not.

    `common` is for all requests, `preview` for texts.
    """

    text: str
    caption: str
    plain: str
    picture: str
    # Hidden until tapped.
    has_spoiler: bool
    preview: Mapping[str, Any]
    common: Mapping[str, Any]


def body_of(post: Announcement, options: Mapping[str, str]) -> Body:
    """Break mentions by an invisible joiner. Raises DoesNotFit."""
    template = options.get("template", "")
    parts = parts_of(post, template) if post.own_words or template else _usual(post)
    pictures = (post.images or post.sensitive_images) if options.get("photo") else ()
    return Body(
        text=_html(parts, TEXT_LIMIT),
        caption=_html(parts, CAPTION_LIMIT),
        plain="".join(part.text for part in _within(parts_of(post, template), TEXT_LIMIT * 9 // 10)),
        picture=pictures[0].url if pictures else "",
        has_spoiler=bool(post.sensitive_images),
        preview=_preview(post.link, options.get("link_preview", "")),
        common={
            **({"message_thread_id": int(options["thread_id"])} if options.get("thread_id") else {}),
            **({"disable_notification": True} if options.get("silent") else {}),
        },
    )


def _usual(post: Announcement) -> list[FittingPart]:
    by = f", by {post.authors}" if post.authors else ""
    parts = [
        FittingPart(headline(post) or UNTITLED, cuttable=True, link=post.link),
        FittingPart(f"\n{post.newsletter_title}{by}"),
        *text_of_unlinked(post),
    ]
    for line in post.lines[:DIGEST_LINES]:
        parts += [FittingPart("\n• "), FittingPart(line.title, cuttable=True, link=line.link)]
    return parts


def _within(parts: Sequence[FittingPart], limit: int) -> list[FittingPart]:
    broken = [
        part if part.text == part.link else replace(part, text=_unmentioned(part.text)) for part in parts
    ]
    return fitted(broken, lambda pieces: sum(utf16_units(piece.text) for piece in pieces) <= limit)


def _html(parts: Sequence[FittingPart], limit: int) -> str:
    # No mentions in link texts; URLs are unchanged.
    shown = [replace(part, text=_unmentioned(part.text)) for part in parts]
    return "".join(map(_written, _within(shown, limit)))


def _written(part: FittingPart) -> str:
    text = escape(part.text)
    return f'<a href="{escape(part.link)}">{text}</a>' if part.link and part.text else text


def _unmentioned(text: str) -> str:
    return _MENTION.sub(f"@{WORD_JOINER}", text)


def _preview(link: str, wish: str) -> dict[str, Any]:
    if wish == "none" or not link:
        return {"is_disabled": True}
    return {"url": link, "prefer_small_media" if wish == "small" else "prefer_large_media": True}
