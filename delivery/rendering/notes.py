"""What an editor says above the posts of an issue and below them, as its letter shows it. Pure."""

import re
from dataclasses import dataclass, replace

from django.utils.safestring import SafeString, mark_safe

from common.html.balance import balance
from common.html.plain_text import to_text
from delivery.rendering.drawn import RenderedParts
from delivery.rendering.posts import for_letter

_BODY = re.compile(r"<body\b[^<>]*>", re.IGNORECASE)
_END = re.compile(r"</body\s*>", re.IGNORECASE)
# Below ours, which stands in `parts/note.html`.
NOTE_CLASS = "note"
_PLAIN = '<div class="{}" style="max-width:552px;margin:0 auto;padding:16px 24px">{}</div>'


@dataclass(frozen=True, slots=True)
class Note:
    """`html` is safe; `text` is the same as text. Both are empty where there is no note."""

    html: SafeString
    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    """Above the posts, and below them."""

    top: Note
    foot: Note


def note_of(html: str, *, base: str) -> Note:
    """A note of html that was cleaned."""
    shown = for_letter(balance(html), page=base) if html else ""
    return Note(mark_safe(shown), to_text(shown).strip() if shown else "")  # noqa: S308


def with_notes(drawn: RenderedParts, notes: Notes) -> RenderedParts:
    """What an own template made, with the notes that it has no place for before and after all else."""
    html, text = drawn.html, drawn.text
    for note, place in ((notes.top, "top"), (notes.foot, "foot")):
        if not note.html:
            continue
        name = f"{NOTE_CLASS} {NOTE_CLASS}-{place}"
        if name not in html:
            found = (_BODY if place == "top" else _END).search(html)
            usual = 0 if place == "top" else len(html)
            at = usual if found is None else found.end() if place == "top" else found.start()
            html = f"{html[:at]}{_PLAIN.format(name, note.html)}{html[at:]}"
        if note.text not in text:
            text = f"{note.text}\n\n{text}" if place == "top" else f"{text.rstrip()}\n\n{note.text}\n"
    return replace(drawn, html=html, text=text)
