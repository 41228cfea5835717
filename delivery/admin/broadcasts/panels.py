"""What a newsletter's page says about the letters that its editor writes."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.html import add_url, button, html_table, link_to, paragraph, when
from delivery.admin.broadcasts.words import LETTER_STATE_WORDS, in_zone, standing_of
from delivery.issues.broadcasts import unsent_letters
from delivery.models import Broadcast
from subscriptions.models import Subscribable

LETTERS_SHOWN = 10


def letters_written(subscribable: Subscribable) -> SafeString | str:
    """Drafts and what is scheduled, and a way to begin one; nothing for a bridge."""
    if subscribable.channel != "email":
        return ""
    rows = unsent_letters().filter(subscribable=subscribable).defer("markdown")[:LETTERS_SHOWN]
    table = html_table(
        ("letter", "stands", "goes out", "changed"),
        (
            (
                link_to(row),
                LETTER_STATE_WORDS[standing_of(row)],
                in_zone(row.send_at, subscribable) if row.send_at else "when you send it",
                when(row.changed_at, zone=subscribable.zone),
            )
            for row in rows
        ),
        "None is being written. Write one when you have something to say besides the posts.",
    )
    begin = button(add_url(Broadcast, subscribable=subscribable.pk), "Write a letter")
    return format_html("{}{}", table, paragraph(begin))
