import html
import re
from itertools import pairwise

from common.html.balance import VOID
from common.text import words

# Line lengths of wrapping programs.
SHORTEST_WRAPPED, LONGEST_WRAPPED = 60, 80
# Rarer elements are often only mentioned.
_ELEMENTS = "|".join(
    words(
        "a abbr article audio b big blockquote br center cite code dd del div dl dt em embed figcaption"
        " figure font footer h1 h2 h3 h4 h5 h6 header hr i iframe img ins kbd li main mark noscript object"
        " ol p picture pre q s script section small span strike strong style sub sup svg table tbody td th"
        " tr tt u ul video"
    )
)
_MARKUP = re.compile(rf"</[a-z]|<!--|<(?:{_ELEMENTS})(?=[\s/>])", re.IGNORECASE)
_TAG_LIKE = re.compile(r"<[a-zA-Z/!?]")
_ESCAPED = re.compile(r"&(?:lt|#0*60|#x0*3c);", re.IGNORECASE)
_BEGINS_WITH_TAG = re.compile(rf"<(?:{_ELEMENTS})(?=[\s/>])", re.IGNORECASE)
_ENDS_WITH_TAG = re.compile(r"(?:</[a-zA-Z][a-zA-Z0-9]*\s*|<(?:br|hr|img)\b[^<>]*)>\Z", re.IGNORECASE)
_VOID_END = re.compile(rf"(<({'|'.join(VOID)})\b[^<>]*>)\s*</\2\s*>", re.IGNORECASE)
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_LIST_ITEM = re.compile(r"\s*(?:[-–—*•+>#|]|\(?\d{1,4}[.):]|\[)")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "…")


def paragraphs(text: str) -> str:
    """Escape text, joining wrapped lines."""
    return _paragraphs(html.escape(text, quote=False)) if text else ""


def markup(text: str, *, is_guess: bool) -> str:
    """`is_guess`: it may be plain.

    Decodes html that was escaped twice.
    """
    if "<" not in text and "\n" not in text and not text.startswith("&"):
        return text
    if not _MARKUP.search(text):
        decoded = html.unescape(text) if _ESCAPED.match(text) else ""
        if _BEGINS_WITH_TAG.match(decoded) and _ENDS_WITH_TAG.search(decoded[-1_000:]):
            return markup(decoded, is_guess=False)
        if not is_guess:
            return text
        if _TAG_LIKE.search(text):
            text = text.replace("<", "&lt;")
        return _paragraphs(text) if "\n" in text else text
    return without_void_ends(text) if "</br" in text or "</BR" in text else text


def without_void_ends(text: str) -> str:
    """<br></br> would be two breaks."""
    return _VOID_END.sub(r"\1", text)


def _paragraphs(escaped: str) -> str:
    lines = escaped.replace("\r\n", "\n").replace("\r", "\n").strip()
    blocks = (_joined([line.strip() for line in block.split("\n")]) for block in _EMPTY_LINES.split(lines))
    return "".join(f"<p>{block}</p>" for block in blocks)


def _joined(lines: list[str]) -> str:
    lengths = [len(line) for line in lines]
    is_wrapped = max(lengths) <= LONGEST_WRAPPED
    all_full = len(lines) > 2 and min(lengths[:-1]) >= SHORTEST_WRAPPED
    parts = lines[:1]
    for before, line in pairwise(lines):
        goes_on = all_full or (line[:1].islower() and not before.endswith(_SENTENCE_ENDS))
        joins = is_wrapped and len(before) >= SHORTEST_WRAPPED and goes_on and not _LIST_ITEM.match(line)
        parts += [" " if joins else "<br>", line]
    return "".join(parts)
