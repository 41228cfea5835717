"""Zip archives that Substack, Mailchimp and Buttondown make."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from html import escape
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt

from common.html.clean import MOST_NESTING
from common.refused import Refused
from common.text import one_line
from delivery.rules.old_issues import found
from delivery.rules.old_issues.files import (
    MOST_PAGE,
    MOST_TABLE,
    Archive,
    json_of,
    refuse_too_many,
    refuse_too_much,
    table_rows,
)
from delivery.rules.old_issues.found import Collected, Found, NotTaken, Wanted, text_of, without_parts
from feeds.parsing.dates import moment_of

_SUBSTACK_PARTS = frozenset(
    ("subscription-widget-wrap", "subscription-widget-wrap-editor", "button-wrapper", "captioned-button-wrap")
)
_PAGES = ("page", "thread", "restack")
# *|UNSUB|*, *|MC:SUBJECT|*, *|IF:FNAME|*
_MERGE_TAG = re.compile(r"\*\|[^|*<>]{1,200}\|\*")
_MAILCHIMP_PARTS = frozenset(("awesomewrap", "canspamBarWrapper", "templateFooter", "mcnPreviewText"))
_MAILCHIMP_DATES = ("%b %d, %Y %I:%M %p", "%b %d, %Y, %I:%M %p", "%B %d, %Y %I:%M %p")
_NUMBERED = re.compile(r"(\d{1,18})_", re.ASCII)
_NOT_A_WORD = re.compile(r"[\W_]+")
_FANCY = "editor-mode: fancy"
# The parser takes 5 seconds for as many brackets, and four times as long for twice as many.
MOST_MARKDOWN = 100_000
SAME_TITLE = "Several campaigns have this title, so check that it’s the right text."
# {{ subscribe_form }}, {% if … %}
_TEMPLATE = re.compile(r"\{\{[^{}<>]{0,500}\}\}|\{%[^{}<>]{0,500}%\}")
_COMMENT = re.compile(r"<!--[^<>]{0,500}-->")


def substack(archive: Archive, wanted: Wanted) -> Found:
    """posts.csv, and posts/ID.slug.html."""
    listed = archive.find("posts.csv")
    pages = {PurePosixPath(name).name[:-5]: name for name in archive.beside(listed, "posts", ".html")}
    refuse_too_much(sum(map(archive.size, pages.values())))
    collected = Collected("Substack", wanted)
    for row in table_rows(archive.read(listed, MOST_TABLE)):
        name = row.get("post_id", "")
        title = one_line(row.get("title", "")) or name
        at = moment_of(row.get("email_sent_at", "")) or moment_of(row.get("post_date", ""))
        about = (row.get("subtitle", ""), row.get("podcast_url", ""))
        read = partial(_substack_page, archive, pages.get(name, ""), *about)
        why = _why_not_substack(row, name in pages, wanted)
        collected.add(f"substack {name.partition('.')[0]}", title, at, read, why=why)
    return collected.found()


def _why_not_substack(row: dict[str, str], has_page: bool, wanted: Wanted) -> str:
    if row.get("is_published", "").lower() != "true":
        return found.NOT_SENT
    if row.get("type", "") in _PAGES:
        return f"It’s a {row['type']}, not an issue."
    if not has_page:
        return found.EMPTY
    is_paid = row.get("audience", "") in ("only_paid", "founding")
    return found.PAID if is_paid and not wanted.with_paid else ""


def _substack_page(archive: Archive, name: str, subtitle: str, audio: str) -> str:
    before = f"<p><em>{escape(subtitle)}</em></p>" if subtitle else ""
    if audio:
        before += f'<p><a href="{escape(audio)}">{escape(audio)}</a></p>'
    return before + without_parts(text_of(archive.read(name, MOST_PAGE)), _SUBSTACK_PARTS)


def mailchimp(archive: Archive, wanted: Wanted) -> Found:
    """campaigns.csv, and campaigns_content/NUMBER_title.html. The list doesn't have the number."""
    listed = archive.find("campaigns.csv")
    data = archive.read(listed, MOST_TABLE)
    pages = _MailchimpPages(archive.beside(listed, "campaigns_content", ".html"))
    refuse_too_much(sum(map(archive.size, pages.names)))
    collected = Collected("Mailchimp", wanted)
    rows = [(row, _mailchimp_date(row.get("send date", ""), wanted)) for row in table_rows(data)]
    # Files with the same title are numbered in the order of their campaigns.
    for row, at in sorted(rows, key=lambda pair: (pair[1] is None, pair[1] or wanted.now)):
        subject = _MERGE_TAG.sub("", row.get("subject", ""))
        title = one_line(subject) or one_line(row.get("title", ""))
        name, note = pages.take(row.get("title", ""), row.get("subject", ""))
        why = "" if name else found.EMPTY
        key = f"mailchimp {row.get('unique id') or PurePosixPath(name).name}"
        collected.add(key, title, at, partial(_mailchimp_page, archive, name), why=why, note=note)
    collected.refused.extend(NotTaken(PurePosixPath(name).name, found.NO_DATE) for name in pages.left)
    return collected.found()


class _MailchimpPages:
    """Files by the words of their campaign's title, of which they are named; each is taken once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self._left = names, dict[str, list[str]]()
        for name in sorted(names, key=lambda name: (_number(name), name)):
            stem = _NUMBERED.sub("", PurePosixPath(name).name[:-5])
            self._left.setdefault(_compared(stem), []).append(name)
        self._several = {title for title, same in self._left.items() if len(same) > 1}

    def take(self, *titles: str) -> tuple[str, str]:
        """Return the file's name, or "", and a note."""
        for title in filter(None, map(_compared, titles)):
            if names := self._left.get(title):
                return names.pop(0), SAME_TITLE if title in self._several else ""
        return "", ""

    @property
    def left(self) -> list[str]:
        return [name for names in self._left.values() for name in names]


def _number(name: str) -> int:
    match = _NUMBERED.match(PurePosixPath(name).name)
    return int(match[1]) if match else 0


def _compared(text: str) -> str:
    return _NOT_A_WORD.sub("", text.lower())


def _mailchimp_date(text: str, wanted: Wanted) -> datetime | None:
    for pattern in _MAILCHIMP_DATES:
        try:
            return datetime.strptime(text, pattern).replace(tzinfo=wanted.zone)
        except ValueError:
            continue
    return moment_of(text)


def _mailchimp_page(archive: Archive, name: str) -> str:
    html = text_of(archive.read(name, MOST_PAGE))
    return _MERGE_TAG.sub("", without_parts(html, _MAILCHIMP_PARTS))


def buttondown(archive: Archive, wanted: Wanted) -> Found:
    """emails.json or emails.csv, and emails/slug.md."""
    listed = archive.find("emails.json") or archive.find("emails.csv")
    pages = {PurePosixPath(name).name[:-3]: name for name in archive.beside(listed, "emails", ".md")}
    data = archive.read(listed, MOST_TABLE)
    rows = rows_of(json_of(data)) if listed.endswith(".json") else table_rows(data)
    refuse_too_much(sum(map(archive.size, pages.values())))
    collected = Collected("Buttondown", wanted)
    for row in rows:
        page = pages.get(str(row.get("slug") or ""), "")
        _add_buttondown(collected, row, partial(_buttondown_file, archive, page), is_empty=not page)
    return collected.found()


def buttondown_answer(answer: Any, wanted: Wanted) -> Found:
    """The API's list of emails, with their text as `body`."""
    collected = Collected("Buttondown", wanted)
    for row in rows_of(answer):
        body = row["body"] if isinstance(row.get("body"), str) else ""
        _add_buttondown(collected, row, partial(buttondown_html, body), is_empty=not body.strip())
    return collected.found()


def _add_buttondown(
    collected: Collected, row: dict[str, Any], read: Callable[[], str], *, is_empty: bool
) -> None:
    title = one_line(str(row.get("subject") or row.get("slug") or ""))
    at = moment_of(str(row.get("publish_date") or ""))
    status, kind = str(row.get("status") or "sent").lower(), str(row.get("email_type") or "").lower()
    if status in ("draft", "deleted", "scheduled", "about_to_send"):
        why = found.NOT_SENT
    elif kind in ("premium", "paid", "churned") and not collected.wanted.with_paid:
        why = found.PAID
    else:
        why = found.EMPTY if is_empty else ""
    key = row.get("id") or row.get("slug") or title or "Untitled"
    collected.add(f"buttondown {key}", title, at, read, why=why)


def rows_of(answer: Any) -> list[dict[str, Any]]:
    """Return the rows of a JSON list, or of an API's answer with `results`."""
    answer = answer.get("data", answer) if isinstance(answer, dict) else answer
    listed = answer.get("results") if isinstance(answer, dict) else answer
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    refuse_too_many(len(rows))
    return rows


def _buttondown_file(archive: Archive, name: str) -> str:
    return buttondown_html(text_of(archive.read(name, MOST_PAGE)))


def buttondown_html(text: str) -> str:
    is_html = _FANCY in text[:200]
    text = _COMMENT.sub("", _TEMPLATE.sub("", text))
    return text if is_html else markdown_html(text)


def markdown_html(text: str) -> str:
    """Render Markdown that may contain HTML, to be cleaned. Raises Refused."""
    if len(text) > MOST_MARKDOWN:
        raise Refused(f"It has more than {MOST_MARKDOWN:,} characters of Markdown.")
    rendered: str = _parser().render(text)
    return rendered


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    options = {"html": True, "maxNesting": MOST_NESTING}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
