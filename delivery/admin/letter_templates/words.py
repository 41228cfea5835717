"""Reference of template variables, for the editor."""

from collections.abc import Mapping

from channels.placeholders import field_names
from delivery.rendering import library
from subscriptions.models import Subscribable

Row = tuple[str, str]

NEWSLETTER_VALUES: tuple[Row, ...] = (
    ("{{ newsletter.name }}", "what readers see"),
    ("{{ newsletter.accent }}", "its colour; .accent_dark is the one by night"),
    ("{{ newsletter.params.motto }}", "an extra parameter, the same for everyone"),
)
ISSUE_VALUES: tuple[Row, ...] = (
    ("{{ title }}", "of this issue, as the archive calls it"),
    ("{{ dateline }}", "its day or days"),
    ("{{ head_date }}", "the same, where no post says it"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .authors, .date, .excerpt; each may be empty"),
    ("{{ post.html }}", "the post itself; .text in the text part"),
    ("{{ post.top_image.url }}", "also .alt; {% for image in post.images %} for the others"),
    ("{{ count }}", "how many posts"),
    ('{% include "parts/post.html" %}', "a whole post as usual, inside the loop"),
    ('{% include "parts/foot.html" %}', "the usual foot: why, manage, unsubscribe"),
)
MAIL_VALUES: tuple[Row, ...] = (
    ("{{ subject }}", "the usual subject"),
    ("{{ page_url }}", "the newsletter’s page; empty for a private one"),
    ("{{ site_url }}", "this site"),
    ('{% include "parts/mail_foot.html" %}', "the usual foot: why, manage, unsubscribe"),
)
CONFIRMATION_VALUES: tuple[Row, ...] = (
    ("{{ confirm_url }}", "the link that confirms; the email needs it"),
    ("{{ hours }}", "for how many hours that link works"),
)
PAGE_VALUES: tuple[Row, ...] = (
    ("{{ title }}", "of this issue"),
    ("{{ published|day }}", "the day it went out"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .byline, .published; each may be empty"),
    ("{{ post.html }}", "the post itself"),
    ("{{ page_url }}", "where one subscribes; {{ archive_url }} has the past issues"),
    ("{{ earlier.url }}", "also .title; {{ later.url }} is the issue after"),
)
FRAME_BLOCKS: tuple[Row, ...] = (
    ('{% extends "base.html" %}', "the usual frame, first of all; then fill its blocks"),
    ("{% block body %} … {% endblock %}", "also head, foot and preheader"),
    ("{{ block.super }}", "what the block would have been"),
)
PAGE_BLOCKS: tuple[Row, ...] = (
    ('{% extends "pages/issue.html" %}', "the usual page, first of all; then change its blocks"),
    ("{% block main %} … {% endblock %}", "also title, head, style, top and foot"),
    ("{{ block.super }}", "what the block would have been"),
)
FIELD_MEANINGS: Mapping[str, str] = {
    "from": "the sender",
    "replyTo": "where answers go",
    "to": "name and address",
    "toFull": "the same",
    "toNickname": "the reader’s name, if they gave one",
    "toEmail": "their address",
    "toNicknameOrEmail": "the one or the other",
    "removeLink": "the way out",
    "manageLink": "the reader’s own page",
    "archiveLink": "past issues",
    "webLink": "this issue on the web",
}


def groups(subscribable: Subscribable, name: str) -> list[tuple[str, list[Row]]]:
    """Return groups of rows: syntax and meaning."""
    folder, _, template = name.partition("/")
    if folder == "pages":
        return [("Values", [*NEWSLETTER_VALUES, *PAGE_VALUES]), ("The frame", list(PAGE_BLOCKS)), _rest()]
    special = CONFIRMATION_VALUES if template == "confirmation" else ()
    values = [*NEWSLETTER_VALUES, *(ISSUE_VALUES if folder == "issues" else (*special, *MAIL_VALUES))]
    return [
        ("Filled in for each reader", field_rows(subscribable)),
        ("Values", values),
        ("The frame", list(FRAME_BLOCKS)),
        _rest(),
    ]


def field_rows(subscribable: Subscribable) -> list[Row]:
    names = field_names(subscribable.params).values()
    return [(f"%{name}%", FIELD_MEANINGS.get(name, "your own parameter")) for name in names]


def _rest() -> tuple[str, list[Row]]:
    tags = sorted(name for name in library.register.tags if name != "field")
    return (
        "All there is",
        [("Tags", ", ".join(tags)), ("Filters", ", ".join(sorted(library.register.filters)))],
    )
