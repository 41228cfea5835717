"""What a template may use, for the page where one is written."""

from collections.abc import Mapping

from delivery.rendering import library
from delivery.rendering.placeholders import field_names
from subscriptions.models import Subscribable

Row = tuple[str, str]

NEWSLETTER: tuple[Row, ...] = (
    ("{{ newsletter.name }}", "what readers see"),
    ("{{ newsletter.accent }}", "its colour; .accent_dark is the one by night"),
    ("{{ newsletter.params.motto }}", "an extra parameter, the same for everyone"),
)
ISSUE: tuple[Row, ...] = (
    ("{{ title }}", "of this issue, as the archive calls it"),
    ("{{ dateline }}", "its day or days"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .authors, .date, .excerpt; each may be empty"),
    ("{{ post.html }}", "the post itself; .text in the text part"),
    ("{{ post.top_image.url }}", "also .alt; {% for image in post.images %} for the others"),
    ("{{ count }}", "how many posts"),
    ('{% include "parts/post.html" %}', "a whole post as usual, inside the loop"),
    ('{% include "parts/foot.html" %}', "the usual foot: why, manage, unsubscribe"),
)
MAIL: tuple[Row, ...] = (
    ("{{ subject }}", "the usual subject"),
    ("{{ page_url }}", "the newsletter’s page; empty for a private one"),
    ("{{ site_url }}", "this site"),
    ('{% include "parts/mail_foot.html" %}', "the usual foot: why, manage, unsubscribe"),
)
CONFIRMATION: tuple[Row, ...] = (
    ("{{ confirm_url }}", "the link that confirms; a mail without it is of no use"),
    ("{{ hours }}", "for how many hours that link works"),
)
PAGE: tuple[Row, ...] = (
    ("{{ title }}", "of this issue"),
    ('{{ published|date:"j F Y" }}', "when it went out"),
    ("{% for post in posts %} … {% endfor %}", "each post in turn"),
    ("{{ post.title }}", "also .link, .byline, .published; each may be empty"),
    ("{{ post.html }}", "the post itself"),
    ("{{ page_url }}", "where one subscribes; {{ archive_url }} has the past issues"),
    ("{{ earlier.url }}", "also .title; {{ later.url }} is the issue after"),
)
FRAME: tuple[Row, ...] = (
    ('{% extends "base.html" %}', "the usual frame, first of all; then fill its blocks"),
    ("{% block body %} … {% endblock %}", "also head, foot and preheader"),
    ("{{ block.super }}", "what the block would have been"),
)
PAGE_FRAME: tuple[Row, ...] = (
    ('{% extends "pages/issue.html" %}', "the usual page, first of all; then change its blocks"),
    ("{% block main %} … {% endblock %}", "also title, head, style, top and foot"),
    ("{{ block.super }}", "what the block would have been"),
)
FIELDS: Mapping[str, str] = {
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
    "webLink": "this letter on the web",
}


def groups(subscribable: Subscribable, name: str) -> list[tuple[str, list[Row]]]:
    """Titles, each with what one may write and what comes of it."""
    folder, _, template = name.partition("/")
    if folder == "pages":
        return [("Values", [*NEWSLETTER, *PAGE]), ("The frame", list(PAGE_FRAME)), _rest()]
    special = CONFIRMATION if template == "confirmation" else ()
    values = [*NEWSLETTER, *(ISSUE if folder == "issues" else (*special, *MAIL))]
    return [
        ("Filled in for each reader", fields(subscribable)),
        ("Values", values),
        ("The frame", list(FRAME)),
        _rest(),
    ]


def fields(subscribable: Subscribable) -> list[Row]:
    """Every %Field% of the newsletter; extra parameters last."""
    names = field_names(subscribable.params).values()
    return [(f"%{name}%", FIELDS.get(name, "your own parameter")) for name in names]


def _rest() -> tuple[str, list[Row]]:
    tags = sorted(name for name in library.register.tags if name != "field")
    return (
        "All there is",
        [("Tags", ", ".join(tags)), ("Filters", ", ".join(sorted(library.register.filters)))],
    )
