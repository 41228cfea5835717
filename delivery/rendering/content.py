"""What is done to a post's cleaned html so that it is good to read in a letter. Pure; asks nobody.

Images are as wide as they are, or as the letter: Outlook's Word engine goes by the attribute `width` alone,
and shows an image without one as large as it is. In-page links lead nowhere in a letter and become text.
"""

import re
from collections.abc import Sequence
from html import escape
from urllib.parse import urldefrag, urlsplit

from common.tags import VALUES, attributes, written
from common.text import words
from delivery.rendering.addresses import web_address

WIDTH = 552
SMALL = 120
# A picture alone in its line that does not say its size may be any; an icon among words stays one.
FULL = "full"

_TAG = re.compile(rf"<(?P<end>/?)(?P<name>[a-z][a-z0-9]*)(?P<values>{VALUES})>")
_LENGTH = re.compile(r"\s*(\d{1,5})(?:\.\d*)?\s*(px|%)?\s*")
_PHOTO = re.compile(r"\.(?:jpe?g|webp|avif|heic)\Z", re.IGNORECASE)
# One that no other stands in.
_TABLE = re.compile(rf"<table({VALUES})>((?:(?!<table).)*?</table>)", re.DOTALL)
_LAYOUT = re.compile(r"<(?:img|p|div|ul|ol|h[1-6]|figure|blockquote|center)\b")
_BACK = re.compile(r"[\s↩↑^⏎\ufe0e\ufe0f]*")
# What is on the post's page only.
_ON_THE_WEB = re.compile(r"comment|respond|disqus|reply|more-\d", re.IGNORECASE)
_BLOCKS = words(
    "p div figure figcaption center td th li dd blockquote br hr h1 h2 h3 h4 h5 h6 details summary"
    " address article aside footer header main nav section"
)
_AROUND = frozenset(("a", "span", "em", "strong", "b", "i"))
_LOOK_AT = 10
# What mail programs do not know, and what says the same.
_INSTEAD = {"details": "div", "summary": "p"} | dict.fromkeys(
    ("address", "article", "aside", "footer", "header", "main", "nav", "section"), "div"
)


def for_letter(html: str, *, page: str) -> str:
    """The html for a letter of WIDTH pixels; `page` is the address that the post stands at."""
    if "<" not in html:
        return html
    return _TABLE.sub(_table, "".join(_Writer(html, page).pieces()))


def _table(match: re.Match[str]) -> str:
    """A table of facts has lines; one that only puts a picture above its words has none."""
    is_grid = "<th" in match[2] or not _LAYOUT.search(match[2])
    return f'<table{match[1]} class="grid">{match[2]}' if is_grid else match[0]


class _Writer:
    """Goes through the tags once; what is between them stays as it is."""

    def __init__(self, html: str, page: str) -> None:
        self.html, self.page = html, urldefrag(page)[0] if page else ""
        self.tags = list(_TAG.finditer(html))
        self.is_open: list[bool] = []

    def pieces(self) -> Sequence[str]:
        found, position, skip = [], 0, -1
        for number, tag in enumerate(self.tags):
            if number < skip:
                continue
            found.append(self.html[position : tag.start()])
            position = tag.end()
            if self._is_way_back(number):
                # The arrow from a footnote to its place.
                skip, position = number + 2, self.tags[number + 1].end()
            else:
                found.append(self._written(number, tag))
        return [*found, self.html[position:]]

    def _written(self, number: int, tag: re.Match[str]) -> str:
        name = tag["name"]
        if name == "img":
            return self._image(number, attributes(tag["values"]))
        if name == "a":
            return self._link(tag)
        if name in _INSTEAD:
            inner = ("</strong>" if tag["end"] else "<strong>") if name == "summary" else ""
            outer = f"<{tag['end']}{_INSTEAD[name]}>"
            return inner + outer if tag["end"] else outer + inner
        return tag[0]

    def _link(self, tag: re.Match[str]) -> str:
        if tag["end"]:
            return "</a>" if self.is_open and self.is_open.pop() else ""
        values = attributes(tag["values"])
        values.pop("rel", None)
        self.is_open.append(not self._is_in_page(values.get("href", "")) and "href" in values)
        return f"<a{written(values)}>" if self.is_open[-1] else ""

    def _is_in_page(self, href: str) -> bool:
        place, fragment = urldefrag(href)
        return bool(fragment) and place in ("", self.page) and not _ON_THE_WEB.match(fragment)

    def _is_way_back(self, number: int) -> bool:
        tag, after = self.tags[number], self.tags[number + 1 : number + 2]
        if tag["name"] != "a" or tag["end"] or not after or after[0]["name"] != "a" or not after[0]["end"]:
            return False
        between = self.html[tag.end() : after[0].start()]
        return self._is_in_page(attributes(tag["values"]).get("href", "")) and bool(_BACK.fullmatch(between))

    def _image(self, number: int, values: dict[str, str]) -> str:
        if not web_address(values.get("src", "")):
            return escape(values.get("alt", ""))
        width, height = _length(values.get("width", "")), _length(values.get("height", ""))
        kept = {name: values[name] for name in ("src", "title", "lang", "dir") if values.get(name)}
        kept["alt"] = values.get("alt", "").strip() or values.get("title", "")
        if width:
            kept["width"] = str(min(width, WIDTH))
            # (A large one of a known height would leave a large hole where images are off.)
            if height and height <= SMALL and "%" not in values["width"] + values["height"]:
                kept["height"] = str(height)
        elif height and height <= SMALL and "%" not in values["height"]:
            kept |= {"height": str(height), "style": f"height:{height}px"}
        elif self._stands_alone(number, values["src"]):
            kept |= {"width": str(WIDTH), "class": FULL}
        return f"<img{written(kept)}>"

    def _stands_alone(self, number: int, source: str) -> bool:
        """Whether no word is in its line. Photographs may stand beside each other."""
        beside = {"img"} if _PHOTO.search(urlsplit(source).path) else set()
        return self._ends(number, -1, beside) and self._ends(number, 1, beside)

    def _ends(self, number: int, step: int, beside: set[str]) -> bool:
        for at in range(number, number + step * _LOOK_AT, step):
            there = at + step
            start = self.tags[min(at, there)].end() if min(at, there) >= 0 else 0
            end = self.tags[max(at, there)].start() if max(at, there) < len(self.tags) else len(self.html)
            if self.html[start:end].replace("&nbsp;", "").strip():
                return False
            if not 0 <= there < len(self.tags) or self.tags[there]["name"] in _BLOCKS | beside:
                return True
            if self.tags[there]["name"] not in _AROUND:
                return False
        return False


def _length(text: str) -> int | None:
    """Pixels; a percentage is one of the letter's width."""
    match = _LENGTH.fullmatch(text)
    if match is None or not int(match[1]):
        return None
    return max(1, WIDTH * min(int(match[1]), 100) // 100) if match[2] == "%" else int(match[1])
