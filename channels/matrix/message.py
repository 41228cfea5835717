import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Self

from common.truncation import FittingPart

# "The complete event MUST NOT be larger than 65536 bytes": the rest is for the servers' data, and for an
# edit, which has the text twice.
LONGEST_CONTENT = 24_000
KEY = "feedletter.key"


@dataclass(frozen=True, slots=True)
class Notice:
    text: str
    html: str

    @classmethod
    def of(cls, parts: Sequence[FittingPart]) -> Self:
        return cls("".join(map(_text, parts)), "".join(map(_html, parts)))

    @property
    def size(self) -> int:
        return len(json.dumps(self.content(), ensure_ascii=False).encode("utf-8", "replace"))

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


def _text(part: FittingPart) -> str:
    return f"{part.text} {part.link}" if part.link and part.link != part.text else part.text


def _html(part: FittingPart) -> str:
    shown = escape(part.text).replace("\n", "<br>")
    return f'<a href="{escape(part.link)}">{shown}</a>' if part.link else shown
