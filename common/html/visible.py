"""Removes elements that browsers hide, and names formulas, drawings and form controls.

The cleaner must keep RICH_TAGS and RICH_ATTRIBUTES, and must clean the result again. Hidden text stays if it
names something visible, such as an icon in a link.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from common.html.balance import ANY_TAG, TAG, VOID, attributes, resolved, text_of
from common.html.embeds import page_name
from common.html.foreign import CLOSED, is_hidden
from common.html.formulas import Formula
from common.html.plain_text import PICTURE
from common.text import shortened, words

_MATHML = words(
    "math annotation annotation-xml maction menclose merror mfenced mfrac mi mmultiscripts mn mo mover"
    " mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr"
    " mlabeledtr munder munderover none semantics"
)
_EMPTY_NAMED = words("canvas applet mjx-container mjx-math meter progress model-viewer")
RICH_TAGS = (
    _MATHML
    | _EMPTY_NAMED
    | words("svg input select option textarea dialog datalist button form mjx-assistive-mml area")
    | words("data dir fieldset font hgroup label legend menu nobr output search")
)
RICH_ATTRIBUTES = {
    "*": words(
        "lang dir title class style hidden role popover cite aria-label aria-hidden aria-checked"
        " aria-expanded"
    ),
    "math": {"alttext", "display"},
    "annotation": {"encoding"},
    "mfenced": words("open close separators"),
    "menclose": {"notation"},
    "svg": words("width height viewbox viewBox"),
    "input": words("type value checked alt"),
    "option": {"selected"},
    "select": words("multiple size"),
    "dialog": {"open"},
    "applet": {"alt"},
    "area": {"href", "alt"},
    "model-viewer": {"alt"},
    "meter": words("value min max"),
    "progress": words("value max"),
}
# The formula may be present as MathML as well.
_GLYPHS = re.compile(
    r"(?:\A|\s)(?:katex-html|MathJax(?:_(?:Preview|Display|SVG|SVG_Display|CHTML))?|mwe-math-fallback\S*)(?!\S)"
)
_CONTAINER = re.compile(
    r"(?:\A|\s)(?:katex|katex-display|MathJax(?:_(?:Display|SVG|SVG_Display|CHTML))?|mwe-math-element)(?!\S)"
)
_BLOCK = re.compile(r"<(?:p|div|section|figure|ul|ol|table|h[1-6]|blockquote)\b")
_SHOWN_TAG = re.compile(r"<(?:img|iframe|video|audio|embed|object|hr)\b")
_NUMBER = r"\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}"
_LENGTH = re.compile(rf"\s*({_NUMBER})\s*(px|em|rem|ex|pt|%)?\s*")
_BOX = re.compile(rf"-?(?:{_NUMBER})")
_ICON = 64
_PIXELS = {"": 1, "px": 1, "em": 16, "rem": 16, "ex": 8, "pt": 4 / 3, "%": 1_000}
FORMULA = "[formula]"
MAX_NAME = 300
_DISPLAY_BLOCK = re.compile(r"display\s*:\s*block")
_WHITE_SPACE = re.compile(r"white-space\s*:\s*(pre|break)(-?)")
_GUTTER = re.compile(
    r"(?:\A|[\s_-])(?:linenos?|linenumbers?|line-numbers?(?:-rows)?|lnt|ln|lnum|gutter|blob-num)(?![a-z])",
    re.IGNORECASE,
)
_CODE_ROW = re.compile(r"\s*</?(?:tbody|thead|tr)\b[^<>]*>\s*|\s*<td\b[^<>]*>|(</td>)\s*")
_NUMBERS = re.compile(r"[\d\s:.|]*")
_LINE_END = re.compile(r"(?:\n|<br[^<>]*>)(?:</?[a-z][^<>]*>)*\Z")
_TWO_PRES = re.compile(r"</pre>\s*<pre>")
# A button here is a link or a heading; others need a script.
_ACTING = words("form a h1 h2 h3 h4 h5 h6 summary")
_LINES = frozenset(("div", "p", "li", "section", "textarea"))
_PLAYER_WORDS = re.compile(r"[\d\s:/.,×x%+-]*")
_STYLE_SIZE = re.compile(r"(?<![\w-])(width|height)\s*:\s*([^;]+)")
_TICKS = {"checkbox": "☐☑", "radio": "○◉"}


def visible(html: str, page: str) -> str:
    """Remove hidden elements, and add text for elements that the cleaner drops.

    Formulas and drawings without a name link to `page`. A post that would become empty is shown in full.
    """
    walk = _Walk(html, page, hides=True)
    shown = walk.run()
    if walk.has_hidden and not _has_content(shown):
        return _Walk(html, page, hides=False).run()
    return shown


@dataclass(slots=True)
class _Rendition:
    """One form of a formula: `out[start:end]`, or the hidden `pieces`.

    `is_drawn`: its source may follow, as in MathJax 2.
    """

    kind: Literal["formula", "glyphs"]
    start: int
    end: int
    pieces: tuple[str, ...] = ()
    is_drawn: bool = False


@dataclass(slots=True)
class _Open:
    """`start` is an index of the output, `name` the text if the element is empty."""

    tag: str
    start: int
    values: dict[str, str] = field(default_factory=dict)
    is_hidden: bool = False
    is_glyphs: bool = False
    name: str = ""
    rendition: _Rendition | None = None
    options: list[tuple[bool, str]] = field(default_factory=list)
    is_line: bool = False
    has_code_rows: bool = False
    controls: int = 0
    icons: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_link(self) -> bool:
        """A link within the page is a mark beside a heading, or a link back."""
        return self.tag == "a" and "#" not in self.values.get("href", "#")

    @property
    def is_acting(self) -> bool:
        return self.tag in _ACTING or (self.tag == "button" and "aria-expanded" in self.values)


class _Walk:
    def __init__(self, html: str, page: str, *, hides: bool) -> None:
        self.html, self.page, self.hides = html, page, hides
        self.out: list[str] = []
        self.open = [_Open("", 0)]
        self.has_hidden = self.has_numbers = False

    def run(self) -> str:
        position, tags = 0, TAG.finditer(self.html)
        for tag in tags:
            if position < tag.start():
                self.out.append(self.html[position : tag.start()])
            position = tag.end()
            if tag["end"]:
                self._end(tag)
            elif tag["name"] == "math":
                position = self._formula(tag, tags)
            else:
                self._start(tag)
        self.out.append(self.html[position:])
        shown = "".join(self.out)
        # Each numbered line may be a block.
        return _TWO_PRES.sub("\n", shown) if self.has_numbers else shown

    def _formula(self, tag: re.Match[str], tags: Iterator[re.Match[str]]) -> int:
        """Write a formula, and return where it ends."""
        values, position = attributes(tag["values"]), tag.end()
        formula = Formula(values)
        for inner in tags:
            formula.text(self.html[position : inner.start()])
            position = inner.end()
            if inner["end"] and formula.depth == 1:
                break
            if inner["end"]:
                formula.end()
            elif inner["name"] not in VOID:
                formula.start(inner["name"], attributes(inner["values"]))
        text, start = formula.html() or self._linked(FORMULA), len(self.out)
        if self.hides and is_hidden("math", values):
            self._rendered("formula", start, (text,))
            return position
        if formula.display and start and not self.out[-1].endswith(">") and self.out[-1].strip():
            text = f"<br>{text}<br>"
        self.out.append(text)
        self._rendered("formula", start)
        return position

    def _start(self, tag: re.Match[str]) -> None:
        name, start = tag["name"], len(self.out)
        values = attributes(tag["values"]) if tag["values"] else {}
        hidden = self.hides and (bool(values) or name in CLOSED) and is_hidden(name, values)
        is_glyphs = name == "mjx-math" or (bool(values) and _is_glyphs(name, values))
        if name in VOID:
            if name == "input" and values.get("type", "").lower() == "range":
                self.open[-1].controls += 2
            if hidden:
                self.has_hidden = self.has_hidden or name == "img"
            elif name == "area":
                address = values.get("href", "")
                self.out.append(f"{self._linked(values.get('alt') or page_name(address), address)} ")
            else:
                self.out.append(self._control(values) if name == "input" else tag[0])
                if name == "img" and is_glyphs:
                    self._rendered("glyphs", start)
            return
        element = _Open(name, start, values, hidden, is_glyphs)
        if name == "svg":
            element.name = self._drawing(values)
            element.is_glyphs = not element.name or PICTURE in element.name
        elif name not in ("select", "option"):
            element.name = self._name(element)
            self.has_numbers = self.has_numbers or "data-line-number" in values
            written = "<pre>" if name == "textarea" else tag[0]
            if self._around("pre") and name != "pre":
                written = self._line(element) or written
            tick = _TICKS.get(values.get("role", ""))
            self.out.append(written + (tick[values.get("aria-checked") == "true"] if tick else ""))
        self.open.append(element)

    def _end(self, tag: re.Match[str]) -> None:
        if len(self.open) == 1 or self.open[-1].tag != tag["name"]:
            return
        element = self.open.pop()
        parent, start = self.open[-1], element.start
        if element.tag == "svg":
            self.out[start:] = [element.name] if not element.is_hidden else []
            is_unnamed = not element.is_hidden and not element.values.get("aria-label")
            if element.name and is_unnamed and (_is_icon(element.values) or not _sides(element.values)):
                holder = self._around("a", "button")
                (parent if PICTURE in element.name else holder or element).icons.append((start, element.name))
        elif element.tag == "select":
            takes_all = "multiple" in element.values
            chosen = [text for is_chosen, text in element.options if is_chosen or takes_all]
            self.out[start:] = [", ".join(chosen or [text for _, text in element.options[:1]])]
        elif element.tag == "option":
            text = "".join(self.out[start:])
            if parent.tag == "select":
                parent.options.append(("selected" in element.values, text))
                del self.out[start:]
        else:
            if element.name and not element.is_hidden and not _has_content("".join(self.out[start:])):
                self.out.append(element.name)
            self._drop_controls(element, parent)
            self._end_code(element, tag)
            self._end_container(element)
        alone = element.rendition if self._is_alone(element) else None
        if element.is_hidden:
            self._hide(element, parent, alone)
        elif alone is not None and alone.kind == "formula":
            self._rendered("formula", start, alone.pieces)
            if element.is_glyphs and parent.rendition is not None:
                parent.rendition.is_drawn = True
        elif element.is_glyphs:
            self._rendered("glyphs", start)

    def _end_container(self, element: _Open) -> None:
        """Keep the formula alone, of all that is in its container."""
        rendition = element.rendition
        if rendition is None or rendition.kind != "formula":
            return
        if element.tag == "mjx-container" or _CONTAINER.search(element.values.get("class", "")):
            self.out[element.start :] = rendition.pieces or self.out[rendition.start : rendition.end]
            element.rendition = _Rendition("formula", element.start, len(self.out))

    def _around(self, *tags: str) -> _Open | None:
        return next((element for element in reversed(self.open) if element.tag in tags), None)

    def _line(self, element: _Open) -> str:
        """A line of code, as a span; its end is written by `_end_code`."""
        values = element.values
        is_block = element.tag in _LINES or _DISPLAY_BLOCK.search(values.get("style", "")) is not None
        element.is_line = is_block or any(one.endswith("line") for one in values.get("class", "").split())
        if (
            is_block
            and not self.out[-1].startswith(("<pre", "<code", "<span"))
            and not _ends_line("".join(self.out[-4:]))
        ):
            self.out.append("\n")
            element.start += 1
        return "<span>" if element.tag in _LINES else ""

    def _end_code(self, element: _Open, tag: re.Match[str]) -> None:
        start, end = element.start + 1, "</pre>" if element.tag == "textarea" else tag[0]
        in_pre, values = self._around("pre"), element.values
        is_gutter = "data-line-number" in values or bool(_GUTTER.search(values.get("class", "")))
        space = _WHITE_SPACE.search(values["style"].lower()) if "style" in values else None
        if not (element.is_line or is_gutter or space or element.tag in ("td", "table")):
            self.out.append(end)
            return
        content = "".join(self.out[start:])
        if element.has_code_rows and not _BLOCK.search(content):
            self.out[element.start :] = [
                "<pre>",
                _CODE_ROW.sub(lambda tag: "\n" * bool(tag[1]), content),
                "</pre>",
            ]
            return
        text = text_of(content)
        is_column = is_gutter or (element.tag == "td" and "<pre" in content)
        # An empty one is beside others with numbers.
        is_column = is_column and (bool(text.strip()) or (self.has_numbers and "<a" not in content))
        if is_column and _NUMBERS.fullmatch(text) and _counts_up(text) and not _SHOWN_TAG.search(content):
            del self.out[element.start :]
            self.has_numbers = True
            if element.tag == "td" and "<" not in content and (table := self._around("table")):
                table.has_code_rows = True
            return
        if (
            element.is_line
            and not _ends_line(content)
            and self.html[tag.end() : tag.end() + 1] not in ("\n", "\r")
        ):
            self.out.append("\n")
        elif space and "\n" in text.strip() and not in_pre and not _BLOCK.search(content):
            if space[2] or space[1] == "break":
                self.out[start:] = [content.strip().replace("\n", "<br>")]
            elif element.tag == "code":
                self.out[element.start] = f"<pre>{self.out[element.start]}"
                end += "</pre>"
            elif element.tag in ("p", "div"):
                self.out[element.start], end = "<pre>", "</pre>"
        self.out.append("</span>" if element.tag in _LINES and in_pre else end)

    def _drop_controls(self, element: _Open, parent: _Open) -> None:
        """Remove icons beside words, buttons for scripts, and what belongs to a player's controls."""
        start, icons = element.start + 1, dict(element.icons)
        if icons:
            others = "".join(
                piece for at, piece in enumerate(self.out[start:], start) if icons.get(at) != piece
            )
            if ANY_TAG.sub("", others).strip() and (
                element.tag in ("a", "button") or not _BLOCK.search(others)
            ):
                self.out[start:] = [others]
        parent.controls += element.controls
        if element.tag != "button" and element.controls < 2:
            return
        content = "".join(self.out[start:])
        if (
            element.tag == "button"
            and not any(around.is_acting for around in [element, *self.open])
            and not _SHOWN_TAG.search(content)
        ):
            del self.out[start:]
            parent.controls += 1
        elif (
            element.controls > 1
            and _PLAYER_WORDS.fullmatch(text_of(content))
            and not _SHOWN_TAG.search(content)
        ):
            del self.out[start:]

    def _hide(self, element: _Open, parent: _Open, alone: _Rendition | None) -> None:
        """Its words may name a link, its formula replace glyphs."""
        pieces = self.out[element.start :]
        del self.out[element.start :]
        if alone is not None and alone.kind == "formula":
            self._rendered("formula", element.start, tuple(pieces))
            return
        words = " ".join(ANY_TAG.sub(" ", "".join(pieces)).split())
        self.has_hidden = self.has_hidden or bool(words)
        link = next((element for element in reversed(self.open) if element.is_link), None)
        if link is not None and words and not link.name:
            link.name = shortened(words, MAX_NAME)

    def _is_alone(self, element: _Open) -> bool:
        rendition = element.rendition
        if rendition is None:
            return False
        around = self.out[element.start : rendition.start] + self.out[rendition.end :]
        return not ANY_TAG.sub("", "".join(around)).strip()

    def _rendered(self, kind: Literal["formula", "glyphs"], start: int, held: tuple[str, ...] = ()) -> None:
        """Of a formula and its glyphs, keep the first."""
        parent = self.open[-1]
        before = parent.rendition
        if before is not None and "".join(self.out[before.end : start]).strip():
            before = None
        if before is not None and before.kind == "formula" and kind == "glyphs":
            if before.pieces:
                self.out[before.start :] = before.pieces
                before.pieces = ()
            else:
                del self.out[before.end :]
            before.end = len(self.out)
            return
        if before is not None and (before.kind == "glyphs" or before.is_drawn):
            if kind == "formula":
                self.out[before.start :] = held or tuple(self.out[start:])
                held = ()
            start = before.start
        parent.rendition = _Rendition(kind, start, len(self.out), held)

    def _name(self, element: _Open) -> str:
        tag, values = element.tag, element.values
        if not values and tag not in _EMPTY_NAMED:
            return ""
        label = " ".join((values.get("aria-label") or values.get("alt") or values.get("title") or "").split())
        if tag in ("meter", "progress"):
            return escape(_share(values) or label)
        if tag in _EMPTY_NAMED:
            if tag == "mjx-math" or values.get("aria-hidden") == "true":
                return ""
            return escape(shortened(label, MAX_NAME)) or self._linked(
                FORMULA if tag.startswith("mjx-") else PICTURE
            )
        if source := _tex(values):
            return f"<code>{escape(source, quote=False)}</code>"
        is_named = element.is_link or values.get("role") in ("img", "math")
        return escape(shortened(label, MAX_NAME)) if is_named else self._card(values, label)

    def _card(self, values: dict[str, str], label: str) -> str:
        """Link to the page that a script would show here, with its words if they are known."""
        data = _data(values)
        given = (values.get("data-href"), values.get("data-url"), values.get("cite"), data.get("url"))
        address = resolved(next(filter(None, given), ""), self.page)
        if not address or address == self.page:
            return ""
        name = label or data.get("title") or data.get("text") or page_name(address)
        if not data.get("full_text"):
            return self._linked(name, address)
        author = " ".join(
            filter(None, (data.get("name"), f"@{data['username']}" if data.get("username") else ""))
        )
        text = escape(data["full_text"], quote=False).replace("\n", "<br>")
        return (
            f"<blockquote><p>{text}</p><p>{escape(author, quote=False)}"
            f" {self._linked(page_name(address), address)}</p></blockquote>"
        )

    def _drawing(self, values: dict[str, str]) -> str:
        if values.get("aria-hidden") == "true":
            return ""
        label = " ".join((values.get("aria-label") or values.get("data-name") or "").split())
        if label:
            return escape(shortened(label, MAX_NAME), quote=False)
        is_icon = values.get("role") in ("none", "presentation") or _is_icon(values)
        return "" if is_icon else self._linked(PICTURE)

    def _control(self, values: dict[str, str]) -> str:
        kind = values.get("type", "text").lower()
        if kind in _TICKS:
            return _TICKS[kind]["checked" in values]
        words = " ".join((values.get("value") or values.get("alt") or "").split())
        if kind in ("submit", "button", "reset", "image"):
            return self._linked(words)
        return (
            escape(words, quote=False) if kind not in ("hidden", "password", "file", "color", "range") else ""
        )

    def _linked(self, words: str, page: str = "") -> str:
        shown = escape(shortened(words, MAX_NAME), quote=False)
        page = page or self.page
        return f'<a href="{escape(page)}">{shown}</a>' if page and shown and not self._around("a") else shown


def _ends_line(html: str) -> bool:
    return _LINE_END.search(html) is not None


def _counts_up(text: str) -> bool:
    numbers = [int(number[:9]) for number in re.findall(r"\d+", text)]
    return numbers == sorted(set(numbers))


def _is_glyphs(name: str, values: dict[str, str]) -> bool:
    is_words = name == "span" or (name == "img" and bool(values.get("alt")))
    return (is_words and values.get("aria-hidden") == "true") or bool(_GLYPHS.search(values.get("class", "")))


def _has_content(html: str) -> bool:
    if _SHOWN_TAG.search(html):
        return True
    return bool(text_of(html).replace("\u200b", "").strip())


def _tex(values: dict[str, str]) -> str:
    source = values.get("data-tex") or values.get("data-latex") or ""
    if not source and "latex-rendered" in values.get("class", ""):
        source = _data(values).get("persistentExpression", "")
    return " ".join(source.split())[:MAX_NAME]


def _data(values: dict[str, str]) -> dict[str, str]:
    try:
        data = json.loads(values.get("data-attrs") or "{}")
    except ValueError:
        return {}
    return (
        {name: text for name, text in data.items() if isinstance(text, str)} if isinstance(data, dict) else {}
    )


def _share(values: dict[str, str]) -> str:
    try:
        low, high = float(values.get("min", "0")), float(values.get("max", "1"))
        return f"{100 * (float(values['value']) - low) / (high - low):.0f} %"
    except (KeyError, ValueError, ZeroDivisionError):
        return ""


def _sides(values: dict[str, str]) -> list[float]:
    styled = dict(_STYLE_SIZE.findall(values.get("style", "").lower()))
    lengths = [
        _LENGTH.fullmatch(styled.get(side, values.get(side, "")).strip()) for side in ("width", "height")
    ]
    return [float(one[1]) * _PIXELS[one[2] or ""] for one in lengths if one]


def _is_icon(values: dict[str, str]) -> bool:
    sizes = _sides(values)
    if not sizes:
        box = values.get("viewbox") or values.get("viewBox") or ""
        sizes = list(map(float, _BOX.findall(box)[2:4]))
    return "icon" in values.get("class", "").lower() or (bool(sizes) and min(sizes) <= _ICON)
