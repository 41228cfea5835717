"""HTML as wrapped plain text, with links as footnotes and tables as columns."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import zip_longest

from common.html.balance import MAX_HTML, balance
from common.html.numbering import Numbers, integer, with_starts
from common.text import WITHOUT_BLANKS, padded, text_width, without_controls, words

CELL_GAP = "  "
MOST_TABLE_COLUMNS = 8
MOST_TABLE_ROWS = 65_534
MAX_INDENTS = 8
WIDTH = 72
STRUCK = "~"
# A cell that one above reaches into.
SPANNED = "\0"
PICTURE = "[picture]"
OPEN_READING, CLOSED_READING = "（", "）"
_STRUCK = frozenset(("del", "s", "strike"))
_NO_PAGE = re.compile("\\A(?:mailto|tel|sms):")
_SKIPPED = frozenset({"script", "style", "head", "title", "template", "svg", "iframe"})
_PARAGRAPHS = words(
    "p div section article header footer figure figcaption blockquote ul ol dl table caption details summary"
    " center address main aside nav"
)
_HEADINGS = {"h1": "=", "h2": "-", "h3": "", "h4": "", "h5": "", "h6": ""}
_SCRIPTS_WITHOUT_BLANKS = re.compile(f"[{WITHOUT_BLANKS}]")
# Opening marks and some vowels end no line; closing marks, small kana and other vowels begin none.
_OPENING = "（「『【〔〈《\u0e40-\u0e44\u0ec0-\u0ec4"
_PIECE = re.compile(
    rf"\s+|[{_OPENING}]*(?:[{WITHOUT_BLANKS}]|[^\s{WITHOUT_BLANKS}{_OPENING}]+)"
    rf"(?:(?![{_OPENING}\s])[\Wー々ぁぃぅぇぉっゃゅょァィゥェォッャュョะาำ])*|."
)
_LINES = frozenset({"li", "dt", "dd", "tr"})


def columns(rows: Sequence[Sequence[str | None]], *, has_head: bool, width: int) -> list[str] | None:
    """Align rows in columns; return None if they need more than `width`.

    A cell of None continues the one to its left.
    """
    count = max(map(len, rows), default=0)
    if not 1 < count <= MOST_TABLE_COLUMNS:
        return None
    widths = [0] * count
    cells = [list(_cells(row)) for row in rows]
    # Spanning cells last; they widen their last column.
    for at, span, text in sorted((cell for row in cells for cell in row), key=lambda cell: cell[1]):
        others = sum(widths[at : at + span - 1]) + len(CELL_GAP) * (span - 1)
        widths[at + span - 1] = max(widths[at + span - 1], text_width(text) - others)
    if sum(widths) + len(CELL_GAP) * (count - 1) > width:
        return None
    lines = [
        CELL_GAP.join(
            padded(text, sum(widths[at : at + span]) + len(CELL_GAP) * (span - 1)) for at, span, text in row
        ).rstrip()
        for row in cells
    ]
    if has_head:
        lines.insert(1, CELL_GAP.join("-" * max(1, each) for each in widths))
    return lines


def _cells(row: Sequence[str | None]) -> Iterator[tuple[int, int, str]]:
    for at, text in enumerate(row):
        if text is not None:
            after = next((end for end in range(at + 1, len(row)) if row[end] is not None), len(row))
            yield at, after - at, text


class _Writer(HTMLParser):
    def __init__(self, width: int | None) -> None:
        super().__init__(convert_charrefs=True)
        self.width, self.aligns = width or MAX_HTML, width is not None
        self.lines: list[str] = []
        self.notes: dict[str, int] = {}
        self._inline: list[str] = []
        self._indents: list[tuple[str, str]] = []
        self._lists: list[Numbers | None] = []
        self._bullet = ""
        self._sup = 0
        # Address, label in finished lines, start in the open line.
        self._link: tuple[str, str, int] | None = None
        self._last_line = 0
        self._has_picture = False
        self._skipping = self._preformatted = 0
        # The mark for struck-out text is due before the next word.
        self._is_struck = False
        self._has_rp = False
        # Only for class "grid", which has only words in its cells.
        self._rows: list[list[str | None]] | None = None
        self._has_head = False
        # By column: rows that a cell above occupies.
        self._held: list[int] = []
        self._column = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in _SKIPPED:
            self._skipping += 1
        elif tag in _PARAGRAPHS or tag in _HEADINGS or tag == "pre":
            self._flush()
            if tag not in ("ul", "ol") or not self._lists:
                self._blank()
            if tag in ("ul", "ol"):
                self._lists.append(Numbers(values) if tag == "ol" else None)
            elif tag == "blockquote":
                self._indents.append(("> ", "> "))
            elif tag == "pre":
                self._preformatted += 1
            elif tag == "table" and values.get("class") == "grid":
                self._rows, self._has_head, self._held = [], False, []
        elif tag in _LINES:
            self._line(tag, values)
        elif tag in ("td", "th"):
            self._cell(tag, values)
        else:
            self._inline_tag(tag, values)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        elif tag in _HEADINGS:
            self._heading(_HEADINGS[tag])
        elif tag == "sup":
            # Separate a power or note number from its word, but keep 1st.
            script = "".join(self._inline[self._sup :]).strip()
            if self._sup <= len(self._inline) and script.strip("()[]").isdecimal():
                self._inline[self._sup :] = [f"^{script}"]
        elif tag in _PARAGRAPHS or tag == "pre":
            if tag != "table" or self._rows is None:
                self._flush()
            if tag == "table" and self._rows is not None:
                self._end_table()
            elif tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            elif tag == "blockquote":
                self._unindent()
            elif tag == "pre":
                self._preformatted = max(0, self._preformatted - 1)
            if tag not in ("ul", "ol") or not self._lists:
                self._blank()
        elif tag == "tr" and self._rows is not None:
            self._end_cell()
        elif tag in _LINES:
            self._flush()
            if tag in ("li", "dd"):
                self._unindent()
        elif tag == "a":
            self._end_link()
        elif tag == "rt" and not self._has_rp:
            self._inline.append(CLOSED_READING)
        elif tag == "q":
            self._inline.append("”")
        elif tag in _STRUCK:
            self._end_struck()

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._add(data if self._preformatted else re.sub(r"\s+", " ", data))

    def text(self) -> str:
        self._paragraph()
        notes = [f"[{number}] {url}" for url, number in self.notes.items()]
        return "\n".join([*self.lines, *notes]).strip("\n")

    def _inline_tag(self, tag: str, values: dict[str, str]) -> None:
        if tag == "br":
            self._inline.append("\n")
        elif tag == "hr":
            self._paragraph()
            self._inline.append("* * *")
            self._paragraph()
        elif tag == "img" and values.get("alt", "").strip():
            self._add(f"[{' '.join(values['alt'].split())}]")
        elif tag == "img":
            self._has_picture = True
        elif tag == "a":
            self._end_link()
            self._link, self._has_picture = (values.get("href", ""), "", len(self._inline)), False
        elif tag in ("ruby", "rp"):
            self._has_rp = tag == "rp"
        elif tag == "rt" and not self._has_rp:
            # Readings of several bases share brackets (WHATWG HTML §4.5.10).
            if self._inline[-1:] == [CLOSED_READING]:
                self._inline.pop()
            else:
                self._inline.append(OPEN_READING)
        elif tag == "q":
            self._inline.append("“")
        elif tag == "sup":
            self._sup = len(self._inline)
        elif tag in _STRUCK:
            self._is_struck = True

    def _add(self, text: str) -> None:
        if self._is_struck and text.strip():
            rest = text.lstrip()
            text, self._is_struck = f"{text[: -len(rest)]}{STRUCK}{rest}", False
        self._inline.append(text)

    def _end_struck(self) -> None:
        if self._is_struck:
            self._is_struck = False
            return
        at = next((at for at in range(len(self._inline) - 1, -1, -1) if self._inline[at].strip()), None)
        if at is not None:
            word = self._inline[at].rstrip()
            self._inline[at] = f"{word}{STRUCK}{self._inline[at][len(word) :]}"
        elif self.lines:
            last = next((at for at in range(len(self.lines) - 1, -1, -1) if self.lines[at].strip("> ")), 0)
            self.lines[last] += STRUCK

    def _cell(self, tag: str, values: dict[str, str]) -> None:
        if self._rows is None:
            if "".join(self._inline).strip():
                self._inline.append(" | ")
            return
        self._end_cell()
        self._has_head = self._has_head or (tag == "th" and not self._rows[:-1])
        self._rows = self._rows or [[]]
        row = self._rows[-1]
        self._skip_held(row)
        self._column = len(row)
        # Wider tables are never aligned.
        span = min(max(integer(values.get("colspan", ""), otherwise=1), 1), MOST_TABLE_COLUMNS + 1)
        rows = integer(values.get("rowspan", ""), otherwise=1)
        row += ["", *[None] * (span - 1)][: MOST_TABLE_COLUMNS + 1]
        end = min(len(row), MOST_TABLE_COLUMNS + 1)
        self._held += [0] * (end - len(self._held))
        # rowspan=0 reaches to the end.
        self._held[self._column : end] = [rows - 1 if rows else MOST_TABLE_ROWS] * max(0, end - self._column)

    def _skip_held(self, row: list[str | None]) -> None:
        """Leave columns empty that a cell above occupies (WHATWG HTML §4.9.12)."""
        while len(row) < len(self._held) and self._held[len(row)] > 0:
            self._held[len(row)] -= 1
            row.append(SPANNED)

    def _end_row(self) -> None:
        self._end_cell()
        if self._rows:
            row = self._rows[-1]
            self._skip_held(row)
            self._held[len(row) :] = [max(0, rows - 1) for rows in self._held[len(row) :]]

    def _end_cell(self) -> None:
        text = " ".join(self._taken().split())
        if text and self._rows and self._rows[-1]:
            before = self._rows[-1][self._column]
            self._rows[-1][self._column] = f"{before} {text}" if before else text

    def _end_table(self) -> None:
        self._end_cell()
        filled, self._rows = [row for row in self._rows or [] if any(row)], None
        rows = [[cell and cell.replace(SPANNED, "") for cell in row] for row in filled]
        indent = "".join(rest for _, rest in self._indents[:MAX_INDENTS])
        width = self.width - len(indent) if self.aligns else 0
        lines = columns(rows, has_head=self._has_head, width=width)
        if lines is not None:
            self.lines += [(indent + line).rstrip() for line in lines]
            self._last_line = len(self.lines) - 1
            return
        if not self._has_head or len(rows) < 2:
            for row in rows:
                self._inline = [" | ".join(filter(None, row))]
                self._flush()
            return
        # Headings of empty columns would be lost.
        used = {at for row in rows[1:] for at, cell in enumerate(row) if cell}
        is_used = all(at in used for at, head in enumerate(rows[0]) if head)
        above: Sequence[str | None] = ()
        for row in filled[is_used:]:
            above = [
                above[at] if cell == SPANNED and at < len(above) else cell for at, cell in enumerate(row)
            ]
            head = ""
            for heading, cell in zip_longest(rows[0], above):
                head = head if heading is None else heading
                if cell and cell != SPANNED:
                    self._inline = [f"{head.rstrip(':')}: {cell}" if head and cell != head else cell]
                    self._flush()
            self._blank()

    def _line(self, tag: str, values: dict[str, str]) -> None:
        if tag == "tr" and self._rows is not None:
            self._end_row()
            self._rows.append([])
            return
        self._flush()
        if tag == "li":
            numbers = self._lists[-1] if self._lists else None
            self._bullet = "* " if numbers is None else f"{numbers.marker(values)} "
            self._indents.append((self._bullet, " " * len(self._bullet)))
        elif tag == "dd":
            self._indents.append(("    ", "    "))

    def _unindent(self) -> None:
        if self._indents:
            self._indents.pop()

    def _end_link(self) -> None:
        if self._link is None:
            return
        (url, before, start), self._link = self._link, None
        is_open = bool("".join(self._inline[start:]).strip())
        label = f"{before} {''.join(self._inline[start:])}".strip()
        if not label and self._has_picture and url:
            self._add(label := PICTURE)
            is_open = True
        if not label or not url or label in (url, _NO_PAGE.sub("", url)) or url.startswith("#"):
            return
        mark = f" [{self.notes.setdefault(url, len(self.notes) + 1)}]"
        if is_open:
            self._inline.append(mark)
        else:
            self.lines[self._last_line] += mark

    def _heading(self, underline: str) -> None:
        before = len(self.lines)
        self._flush()
        if underline and len(self.lines) > before:
            prefix = "".join(rest for _, rest in self._indents[:MAX_INDENTS])
            longest = max(map(len, self.lines[before:])) - len(prefix)
            self.lines.append(prefix + underline * max(1, longest))
        self._blank()

    def _paragraph(self) -> None:
        self._flush()
        self._blank()

    def _blank(self) -> None:
        """Quote an empty line only as deep as both its neighbours."""
        if self._bullet or not self.lines or len(self._lists) > 1:
            return
        quotes = "".join(rest for first, rest in self._indents[:MAX_INDENTS] if first == "> ").rstrip()
        if self.lines[-1].strip("> "):
            self.lines.append(quotes)
        elif len(quotes) < len(self.lines[-1]):
            self.lines[-1] = quotes

    def _taken(self) -> str:
        """Empty the open line, and keep its part of an open link's label."""
        text = "".join(self._inline)
        if self._link:
            url, before, start = self._link
            self._link = (url, f"{before} {''.join(self._inline[start:])}", 0)
        self._inline = []
        return text

    def _flush(self) -> None:
        text = self._taken()
        if not text.strip():
            return
        indents = self._indents[:MAX_INDENTS]
        rest = "".join(rest for _, rest in indents)
        first = (
            "".join(rest for _, rest in indents[:-1]) + indents[-1][0] if indents and self._bullet else rest
        )
        self._bullet = ""
        if self._preformatted:
            lines = ["    " + line for line in text.strip("\n").expandtabs(4).split("\n")]
        else:
            width = max(self.width - len(rest), 20)
            whole = (" ".join(line.split()) for line in text.strip().split("\n"))
            lines = [part for line in whole for part in wrapped(line, width) or [""]]
        for number, line in enumerate(lines):
            self.lines.append(((rest if number else first) + line).rstrip())
        self._last_line = len(self.lines) - 1


def wrapped(line: str, width: int = WIDTH, *, indent: str = "") -> list[str]:
    if not _SCRIPTS_WITHOUT_BLANKS.search(line):
        return textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    lines, left = [""], width
    for piece in _PIECE.findall(line):
        left -= text_width(piece)
        if left + len(piece) - len(piece.rstrip()) < 0 and lines[-1].strip():
            lines.append(indent)
            piece = piece.lstrip()
            left = width - text_width(indent + piece)
        lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()]


def to_text(html: str, *, width: int | None = WIDTH) -> str:
    """Convert at most 1,000,000 characters; the last line has no line end.

    Without a width, lines are not wrapped, and tables are lines of "heading: value".
    """
    writer = _Writer(width)
    writer.feed(with_starts(balance(without_controls(html[:MAX_HTML]))))
    writer.close()
    return writer.text()
