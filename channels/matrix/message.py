import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from channels.announcement import Announcement
from channels.letter import Recipient
from channels.wording import listed_parts, parts_of
from common.truncation import DoesNotFit, FittingPart, fitted

# "The complete event MUST NOT be larger than 65536 bytes": the rest is for the servers' data, and for an
# edit, which has the text twice.
LONGEST_CONTENT = 24_000
MOST_TITLES = 50
KEY = "feedletter.key"


@dataclass(frozen=True, slots=True)
class Notice:
    """`html` is empty for a plain event. With a `refusal` there is none."""

    config: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    text: str = ""
    html: str = ""
    refusal: str = ""

    def content(self, *, plain: bool = False) -> dict[str, Any]:
        """m.notice is for bots; an empty "m.mentions" notifies nobody."""
        shown = {"msgtype": "m.notice", "body": self.text, "m.mentions": {}}
        if plain:
            return shown
        return {**shown, "format": "org.matrix.custom.html", "formatted_body": self.html}

    def new_content(self, event_id: str) -> dict[str, Any]:
        relation = {"rel_type": "m.replace", "event_id": event_id}
        content = self.content()
        return {**content, "body": f"* {self.text}", "m.new_content": content, "m.relates_to": relation}


def notice_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Notice:
    template = options.get("template", "")

    def notice(parts: Sequence[FittingPart], refusal: str = "") -> Notice:
        html = "".join(map(_html, parts))
        return Notice(recipient.config, recipient.secrets, "".join(map(_text, parts)), html, refusal)

    for titles in (MOST_TITLES, 10, 0):
        listed = [] if template or said.own_words else listed_parts(said, titles)
        try:
            parts = fitted(
                [*parts_of(said, template), *listed],
                lambda pieces: size_of(notice(pieces)) <= LONGEST_CONTENT,
            )
            return notice(parts, said.refusal)
        except DoesNotFit:
            continue
    return notice([], said.refusal or "The link alone is longer than an event allows.")


def size_of(notice: Notice) -> int:
    return len(json.dumps(notice.content(), ensure_ascii=False).encode("utf-8", "replace"))


def _text(part: FittingPart) -> str:
    return f"{part.text} {part.link}" if part.link and part.link != part.text else part.text


def _html(part: FittingPart) -> str:
    shown = escape(part.text).replace("\n", "<br>")
    return f'<a href="{escape(part.link)}">{shown}</a>' if part.link else shown
