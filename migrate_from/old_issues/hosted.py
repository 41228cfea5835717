"""Zip archives that Substack, Mailchimp and Buttondown make."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from html import escape
from pathlib import PurePosixPath
from typing import Any

from common.formats.written_dates import parsed_moment
from common.html.clean import MOST_NESTING
from common.refused import Refused
from common.text import one_line
from migrate_from.old_issues import found
from migrate_from.old_issues.found import (
    MOST_PAGE,
    MOST_TABLE,
    Archive,
    Collected,
    Found,
    IssueLine,
    Wanted,
    json_of,
    refuse_too_many,
    refuse_too_much,
    table_rows,
    text_of,
    title_of,
    without_parts,
)

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
# Its command-line tool writes one.
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\r?\n[\w-]+:.*\r?\n(?:.*\r?\n){0,100}?---[ \t]*(?:\r?\n|\Z)")
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
        at = parsed_moment(row.get("email_sent_at", "")) or parsed_moment(row.get("post_date", ""))
        about = (row.get("subtitle", ""), row.get("podcast_url", ""))
        page = pages.get(name, "")
        audience = row.get("audience", "").lower()
        collected.add(
            f"substack {name.partition('.')[0]}",
            title,
            at,
            partial(_substack_page, archive, page, *about),
            why=_why_not_substack(row, bool(page)),
            names=[name.partition(".")[2]],
            size=archive.size(page) if page else 0,
            is_paid=audience in ("only_paid", "founding"),
            is_private=audience not in ("", "everyone"),
        )
    return collected.found()


def _why_not_substack(row: dict[str, str], has_page: bool) -> str:
    if row.get("is_published", "").lower() != "true":
        return found.NOT_SENT
    if row.get("type", "") in _PAGES:
        return f"It’s a {row['type']}, not an issue."
    return "" if has_page else found.EMPTY


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
        title = title_of(row.get("subject", ""), _MERGE_TAG) or one_line(row.get("title", ""))
        name, note = pages.take(row.get("title", ""), row.get("subject", ""))
        why = "" if name else found.EMPTY
        own = row.get("unique id", "")
        collected.add(
            f"mailchimp {own or PurePosixPath(name).name}",
            title,
            at,
            partial(_mailchimp_page, archive, name),
            why=why,
            note=note,
            names=[own],
            size=archive.size(name) if name else 0,
        )
    collected.refused.extend(IssueLine(PurePosixPath(name).name, found.NO_DATE) for name in pages.left)
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
    return parsed_moment(text)


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
        _add_buttondown(
            collected, row, partial(_buttondown_file, archive, page), archive.size(page) if page else 0
        )
    return collected.found()


def buttondown_answer(rows: Iterable[dict[str, Any]], wanted: Wanted) -> Found:
    """The API's list of emails, with their text as `body`."""
    collected = Collected("Buttondown", wanted)
    for row in rows:
        body = row["body"] if isinstance(row.get("body"), str) else ""
        _add_buttondown(collected, row, partial(buttondown_html, body), len(body.strip()))
    return collected.found()


def _add_buttondown(collected: Collected, row: dict[str, Any], read: Callable[[], str], size: int) -> None:
    title = title_of(str(row.get("subject") or row.get("slug") or ""), _TEMPLATE)
    at = parsed_moment(str(row.get("publish_date") or ""))
    status, kind = str(row.get("status") or "sent").lower(), str(row.get("email_type") or "").lower()
    if status in ("draft", "deleted", "scheduled", "about_to_send"):
        why = found.NOT_SENT
    else:
        why = "" if size else found.EMPTY
    is_listed = str(row.get("archival_mode") or "enabled").lower() == "enabled"
    collected.add(
        f"buttondown {row.get('id') or row.get('slug') or title or 'Untitled'}",
        title,
        at,
        read,
        why=why,
        names=[row.get("slug")],
        size=size,
        is_paid=kind in ("premium", "paid", "churned"),
        is_private=not is_listed or kind not in ("", "public", "archival"),
    )


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
    text = _FRONT_MATTER.sub("", text)
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
def _parser() -> Any:
    from markdown_it import MarkdownIt  # for few files

    options = {"html": True, "maxNesting": MOST_NESTING}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
