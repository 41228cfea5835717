"""State of one request to a template's page, and the reference of its variables."""

import difflib
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from channels.letter import Recipient
from channels.placeholders import field_names
from common.admin.html import when
from common.clock import utcnow
from common.parts import Link, Part, Table, Text
from delivery.customisation import source_of
from delivery.letters.templates import (
    KnownTemplate,
    Preview,
    UnknownReader,
    find_reader,
    known_templates,
    preview,
)
from delivery.models import LetterTemplate
from delivery.rendering import library
from delivery.rendering.engine import usual_source
from delivery.rendering.errors import BrokenTemplate
from delivery.rendering.facts import LONGEST_TEMPLATE_SUBJECT, TemplateSource
from delivery.views.preview import frames
from subscriptions.models import Subscribable

FieldRow = tuple[str, str]

NEWSLETTER_VALUES: tuple[FieldRow, ...] = (
    ("{{ newsletter.name }}", "the name that subscribers see"),
    ("{{ newsletter.accent }}", "its colour; .accent_dark is for dark mode"),
    ("{{ newsletter.params.motto }}", "an extra parameter, the same for everyone"),
)
ISSUE_VALUES: tuple[FieldRow, ...] = (
    ("{{ title }}", "the issue’s title, as in the archive"),
    ("{{ dateline }}", "the issue’s day or days"),
    ("{{ head_date }}", "the same, or empty if a post has the date"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .authors, .date, .excerpt; each may be empty"),
    ("{{ post.html }}", "the post itself; .text in the text part"),
    ("{{ post.top_image.url }}", "also .alt; {% for image in post.images %} for the others"),
    ("{{ count }}", "number of posts"),
    ('{% include "parts/post.html" %}', "the default layout of a post, inside the loop"),
    ('{% include "parts/foot.html" %}', "the default foot: why, unsubscribe, manage"),
)
MAIL_VALUES: tuple[FieldRow, ...] = (
    ("{{ subject }}", "the default subject"),
    ("{{ page_url }}", "the newsletter’s page; empty for a private one"),
    ("{{ site_url }}", "this site"),
    ('{% include "parts/mail_foot.html" %}', "the default foot: why, unsubscribe, manage"),
)
CONFIRMATION_VALUES: tuple[FieldRow, ...] = (
    ("{{ confirm_url }}", "the link that confirms; the email needs it"),
    ("{{ hours }}", "hours for which the link works"),
)
PAGE_VALUES: tuple[FieldRow, ...] = (
    ("{{ title }}", "the issue’s title"),
    ("{{ published|day }}", "the day it was sent"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .byline, .published; each may be empty"),
    ("{{ post.html }}", "the post itself"),
    ("{{ page_url }}", "the newsletter’s page; {{ archive_url }} lists past issues"),
    ("{{ earlier.url }}", "the previous issue, also .title; {{ later.url }} is the next"),
)
FRAME_BLOCKS: tuple[FieldRow, ...] = (
    ('{% extends "base.html" %}', "the default frame, on the first line; then fill its blocks"),
    ("{% block body %} … {% endblock %}", "also head, foot and preheader"),
    ("{{ block.super }}", "the block’s default content"),
)
PAGE_BLOCKS: tuple[FieldRow, ...] = (
    ('{% extends "pages/issue.html" %}', "the default page, on the first line; then change its blocks"),
    ("{% block main %} … {% endblock %}", "also title, head, style, top and foot"),
    ("{{ block.super }}", "the block’s default content"),
)
FIELD_MEANINGS: Mapping[str, str] = {
    "from": "the sender",
    "replyTo": "Reply-To address",
    "to": "name and address",
    "toFull": "the same",
    "toNickname": "the subscriber’s name, if known",
    "toEmail": "their address",
    "toNicknameOrEmail": "their name, or else their address",
    "removeLink": "unsubscribe link",
    "manageLink": "the subscriber’s own page",
    "archiveLink": "past issues",
    "webLink": "this issue on the web",
}
MOST_LINES_COMPARED = 3_000


def groups(subscribable: Subscribable, name: str) -> list[tuple[str, list[FieldRow]]]:
    """Return groups of rows: syntax and meaning."""
    folder, _, template = name.partition("/")
    if folder == "pages":
        return [("Values", [*NEWSLETTER_VALUES, *PAGE_VALUES]), ("The frame", list(PAGE_BLOCKS)), _rest()]
    special = CONFIRMATION_VALUES if template == "confirmation" else ()
    values = [*NEWSLETTER_VALUES, *(ISSUE_VALUES if folder == "issues" else (*special, *MAIL_VALUES))]
    names = field_names(subscribable.params).values()
    fields = [(f"%{name}%", FIELD_MEANINGS.get(name, "your own parameter")) for name in names]
    return [
        ("Filled in for each reader", fields),
        ("Values", values),
        ("The frame", list(FRAME_BLOCKS)),
        _rest(),
    ]


def _rest() -> tuple[str, list[FieldRow]]:
    tags = sorted(name for name in library.register.tags if name != "field")
    return (
        "All there is",
        [("Tags", ", ".join(tags)), ("Filters", ", ".join(sorted(library.register.filters)))],
    )


def letter_links(subscribable: Subscribable) -> Part:
    """List mails and pages with their templates; "" for a bridge."""
    if subscribable.channel != "email":
        return ""
    own = {row.name: row for row in LetterTemplate.objects.filter(subscribable=subscribable, is_current=True)}
    return Table(
        ("mail or page", "template", "changed", "by", "actions"),
        (_row(subscribable, known, own.get(known.name)) for known in known_templates()),
    )


def editor_page(subscribable: Subscribable, name: str, *, edit: bool = False) -> str:
    view = "edit" if edit else "preview"
    folder, _, template = name.partition("/")
    return reverse(f"admin:delivery_lettertemplate_{view}", args=[subscribable.name, folder, template])


def _row(subscribable: Subscribable, known: KnownTemplate, own: LetterTemplate | None) -> tuple[object, ...]:
    title = (known.title, Text(known.about, "note"))
    links = (
        Link(editor_page(subscribable, known.name), "Preview"),
        ", ",
        Link(editor_page(subscribable, known.name, edit=True), "Edit"),
    )
    if own is None:
        return title, "default", "", "", links
    said: Part = f"own, version {own.version}"
    # It rendered when saved; a parameter may have been removed since.
    if problem := preview(subscribable=subscribable, name=own.name, now=utcnow()).problem:
        said = (said, Text(f"It does not render. {problem}", "note fl-wrong"))
    return title, said, when(own.created_at), own.author, links


def compared(before: TemplateSource, after: TemplateSource) -> list[tuple[str, list[dict[str, str]]]]:
    """Return the lines of a diff by part. Their kinds are new, old, place or empty."""
    kinds = {"+": "new", "-": "old", "@": "place"}
    found = []
    for part in ("subject", "html", "text"):
        if getattr(before, part) == getattr(after, part):
            continue
        old, new = getattr(before, part).splitlines(), getattr(after, part).splitlines()
        if max(len(old), len(new)) > MOST_LINES_COMPARED:
            said = f"It is too long to compare line by line: {len(old):,} and {len(new):,} lines."
            lines = [{"kind": "place", "text": said}]
        else:
            differing = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
            lines = [{"kind": kinds.get(line[:1], ""), "text": line} for line in differing]
        found.append((part, lines))
    return found


class TemplateEditor:
    """`row` is the version in use, if any; `data` are the request's."""

    def __init__(
        self,
        newsletter: Subscribable,
        known: KnownTemplate,
        data: Mapping[str, Any],
        row: LetterTemplate | None,
        *,
        sees_readers: bool,
    ) -> None:
        self.newsletter, self.known, self.row = newsletter, known, row
        self.is_draft = "html" in data
        self.draft = TemplateSource(**{part: str(data.get(part, "")) for part in ("html", "text", "subject")})
        self.address = str(data.get("as", "")).strip()
        self.sees_readers = sees_readers
        self.note = str(data.get("note", ""))
        self.compared_with = str(data.get("version", ""))
        self.reader_problem = ""

    @property
    def source(self) -> TemplateSource | None:
        """Return the draft or the custom template; None for our file."""
        if self.is_draft:
            return self.draft
        return source_of(self.row) if self.row else None

    def shown(self) -> Preview:
        """Preview for the chosen reader; for a sample reader, with a message, if there is no such reader."""
        source = self.source
        if source is not None and not source.html.strip():
            reason = "write something, or go back to the default"
            return Preview(problem=BrokenTemplate(self.known.name, reason, part="html"))
        reader: Recipient | None = None
        if self.address and not self.sees_readers:
            self.reader_problem = "You may not see subscribers. Shown for Ada instead."
        elif self.address:
            try:
                reader = find_reader(self.newsletter, self.address)
            except UnknownReader as error:
                self.reader_problem = f"{error} Shown for Ada instead."
        return preview(
            subscribable=self.newsletter, name=self.known.name, source=source, reader=reader, now=utcnow()
        )

    def versions(self) -> "QuerySet[LetterTemplate]":
        rows = LetterTemplate.objects.filter(subscribable=self.newsletter, name=self.known.name)
        return rows.select_related("subscribable")

    def context(self, *, edits: bool, shown: Preview | None) -> dict[str, Any]:
        shown = shown or self.shown()
        usual = usual_source(self.known.name)
        source = self.source or usual
        problem = shown.problem
        return {
            "edits": edits,
            "newsletter": self.newsletter,
            "known": self.known,
            "row": self.row,
            "source": source,
            "address": self.address,
            "note": self.note,
            "most_subject": LONGEST_TEMPLATE_SUBJECT,
            "shown": shown,
            "frames": frames(shown, self.newsletter),
            "problem": problem,
            "bad_line": _line_of(source, problem),
            "reader_problem": self.reader_problem,
            "groups": groups(self.newsletter, self.known.name) if edits else (),
            "others": [
                (one.title, editor_page(self.newsletter, one.name, edit=edits), one == self.known)
                for one in known_templates()
            ],
            "versions": self.versions().order_by("-version").defer("html", "text")[:100] if edits else (),
            "comparison": self._comparison(source, usual) if edits and self.compared_with else None,
            "edit_url": editor_page(self.newsletter, self.known.name, edit=True),
            "preview_url": editor_page(self.newsletter, self.known.name),
        }

    def _comparison(self, source: TemplateSource, usual: TemplateSource) -> dict[str, Any] | None:
        if self.compared_with == "default":
            return {"title": "the default", "version": "", "parts": compared(usual, source)}
        number = int(self.compared_with) if self.compared_with.isdecimal() else 0
        row = self.versions().filter(version=min(number, 10**9)).first()
        if row is None:
            return None
        return {
            "title": f"version {row.version}",
            "version": row.version,
            "parts": compared(source_of(row), source),
        }


def _line_of(source: TemplateSource, problem: BrokenTemplate | None) -> str:
    if problem is None or not problem.line or not problem.part:
        return ""
    lines = str(getattr(source, problem.part, "")).splitlines()
    return lines[problem.line - 1].strip()[:200] if problem.line <= len(lines) else ""
