"""A few words of an admin's above or below the posts: text in which addresses become links."""

import re
from html import escape

from django.utils.safestring import SafeString, mark_safe

from common.text import without_controls

_LINK = re.compile(
    r"\[(?P<words>[^\[\]\n]{1,200})\]\((?P<to>https?://[^\s()<>\"]{1,1000}|mailto:[^\s()<>\"]{1,300})\)"
    r"|(?P<url>https?://[^\s<>\"]{1,1000}[^\s<>\".,;:!?'()\[\]])"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


def as_html(text: str) -> SafeString:
    """Safe html: a paragraph for each empty line, `[words](https://…)` and bare addresses as links."""
    paragraphs = (_escaped(part).replace("\n", "<br>") for part in _PARAGRAPHS.split(_tidy(text)) if part)
    return mark_safe("".join(f'<p dir="auto">{part}</p>' for part in paragraphs))  # noqa: S308 (escaped)


def as_text(text: str) -> str:
    """The same for the text part: `words (https://…)`."""
    return _LINK.sub(
        lambda match: f"{match['words']} ({_bare(match['to'])})" if match["to"] else match[0], _tidy(text)
    )


def _escaped(text: str) -> str:
    parts, position = [], 0
    for match in _LINK.finditer(text):
        parts += [escape(text[position : match.start()]), _anchor(match)]
        position = match.end()
    return "".join([*parts, escape(text[position:])])


def _anchor(match: re.Match[str]) -> str:
    words = match["words"] or match[0]
    to = match["to"] or match["url"] or f"mailto:{match['mail']}"
    return f'<a href="{escape(to)}">{escape(words)}</a>'


def _bare(address: str) -> str:
    return address.removeprefix("mailto:")


def _tidy(text: str) -> str:
    return without_controls(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
