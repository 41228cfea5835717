"""Post types (indieweb.org/post-type-discovery)."""

from collections.abc import Mapping
from typing import Any

BY_RELATION = {
    "rsvp": "rsvp",
    "repost-of": "repost",
    "like-of": "like",
    "bookmark-of": "bookmark",
    "in-reply-to": "reply",
}
ORDER = ("repost-of", "like-of", "bookmark-of", "rsvp", "in-reply-to")
KINDS = (
    "article",
    "note",
    "photo",
    "video",
    "audio",
    "reply",
    "repost",
    "like",
    "bookmark",
    "checkin",
    "event",
    "rsvp",
)
BY_MEDIA = ("checkin", "photo", "video", "audio")


def kind_of(jf2: Mapping[str, Any]) -> str:
    if jf2.get("type") == "event":
        return "event"
    # An rsvp is also a reply.
    for name in ORDER:
        if jf2.get(name):
            return BY_RELATION[name]
    for name in BY_MEDIA:
        if jf2.get(name):
            return name
    return "article" if jf2.get("name") else "note"
