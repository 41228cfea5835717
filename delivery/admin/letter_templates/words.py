"""Reference of template variables, for the editor."""

from collections.abc import Mapping

from channels.placeholders import field_names
from delivery.rendering import library
from subscriptions.models import Subscribable

Row = tuple[str, str]

NEWSLETTER_VALUES: tuple[Row, ...] = (
    ("{{ newsletter.name }}", "the name that subscribers see"),
    ("{{ newsletter.accent }}", "its colour; .accent_dark is for dark mode"),
    ("{{ newsletter.params.motto }}", "an extra parameter, the same for everyone"),
)
ISSUE_VALUES: tuple[Row, ...] = (
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
MAIL_VALUES: tuple[Row, ...] = (
    ("{{ subject }}", "the default subject"),
    ("{{ page_url }}", "the newsletter’s page; empty for a private one"),
    ("{{ site_url }}", "this site"),
    ('{% include "parts/mail_foot.html" %}', "the default foot: why, unsubscribe, manage"),
)
CONFIRMATION_VALUES: tuple[Row, ...] = (
    ("{{ confirm_url }}", "the link that confirms; the email needs it"),
    ("{{ hours }}", "hours for which the link works"),
)
PAGE_VALUES: tuple[Row, ...] = (
    ("{{ title }}", "the issue’s title"),
    ("{{ published|day }}", "the day it was sent"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .byline, .published; each may be empty"),
    ("{{ post.html }}", "the post itself"),
    ("{{ page_url }}", "the newsletter’s page; {{ archive_url }} lists past issues"),
    ("{{ earlier.url }}", "the previous issue, also .title; {{ later.url }} is the next"),
)
FRAME_BLOCKS: tuple[Row, ...] = (
    ('{% extends "base.html" %}', "the default frame, on the first line; then fill its blocks"),
    ("{% block body %} … {% endblock %}", "also head, foot and preheader"),
    ("{{ block.super }}", "the block’s default content"),
)
PAGE_BLOCKS: tuple[Row, ...] = (
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
