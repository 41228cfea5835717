"""feedparser takes a media:description for the post's own content; here it describes its picture."""

from typing import Any

import feedparser.api


class _MediaDescriptions:
    """Mixed into feedparser's two parsers, whose handlers are named after the elements."""

    def _start_media_description(self: Any, attrs: dict[str, str]) -> None:
        self.push("media_description", 1)

    def _end_media_description(self: Any) -> None:
        text = self.pop("media_description")
        media = self._get_context().get("media_content")
        if text and media:
            media[-1].setdefault("description", text)


def install() -> None:
    """feedparser offers no way to name a parser, so its two classes are extended. Safe to call again."""
    for name in ("StrictFeedParser", "LooseFeedParser"):
        known = getattr(feedparser.api, name)
        if not issubclass(known, _MediaDescriptions):
            setattr(feedparser.api, name, type(name, (_MediaDescriptions, known), {}))
