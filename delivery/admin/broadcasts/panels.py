"""Panels about broadcasts on a newsletter's page."""

from datetime import datetime
from typing import Any

from common.access import visible_to
from common.admin.html import add_url, when
from common.parts import Button, Facts, Link, Part, Table
from common.refused import Refused
from common.text import pluralize
from delivery.accounts.accounts import account_words, sender_of
from delivery.issues.audience import audience_words, count_readers, recipients_of
from delivery.issues.broadcasts import unsent_letters
from delivery.models import Broadcast
from delivery.rules.audience import is_for_some
from subscriptions.models import Subscribable
from subscriptions.rules.words import moment_words

LETTER_STATE_WORDS = {
    "draft": "draft",
    "scheduled": "scheduled",
    "trouble": "not sent, needs you",
    "sent": "sent",
}
LETTERS_SHOWN = 10


def shown_letter_state(letter: Broadcast) -> tuple[str, str]:
    state = "trouble" if letter.state == "scheduled" and letter.last_error else letter.state
    return state, LETTER_STATE_WORDS[state]


def in_zone(moment: datetime, subscribable: Subscribable) -> str:
    return moment_words(moment, subscribable.zone)


def for_whom(letter: Broadcast) -> str:
    """Describe the audience without counting it, or return its error."""
    try:
        recipients_of(letter)
        return f"For {audience_words(letter)}."
    except Refused as error:
        return str(error)


def goes_to(letter: Broadcast) -> str:
    """Return "812 of 10,000 subscribers as of now: those with the tag “press”", or the error."""
    try:
        count, every = count_readers(letter)
        whom = audience_words(letter)
    except Refused as error:
        return str(error)
    if not every:
        return "nobody yet. You can send it once there’s a confirmed subscriber."
    number = (
        pluralize(count, "subscriber") if count == every else f"{count:,} of {pluralize(every, 'subscriber')}"
    )
    return f"{number} now: {whom}"


def before_sending(letter: Broadcast) -> Facts:
    newsletter, left_out = letter.subscribable, ""
    if is_for_some(letter.audience):
        left_out = "No. Issues sent to part of the list aren’t archived."
    elif newsletter.visibility == Subscribable.Visibility.PRIVATE:
        left_out = "No. The newsletter is private."
    is_paused = newsletter.sending_paused_at is not None
    return Facts(
        ("Newsletter", str(newsletter)),
        ("Subject", letter.subject),
        ("To", goes_to(letter)),
        ("From", sender_of(newsletter)),
        ("Through", account_words(newsletter)),
        ("Replies to", newsletter.reply_to),
        ("In the archive", left_out),
        ("Paused", "The newsletter is paused. This waits until you resume it." if is_paused else ""),
    )


def letters_written(subscribable: Subscribable) -> Part:
    """List unsent broadcasts, with a button to write one; "" for a bridge."""
    if subscribable.channel != "email":
        return ""
    rows = unsent_letters().filter(subscribable=subscribable).defer("markdown")[:LETTERS_SHOWN]
    table = Table(
        ("email", "state", "sent", "changed"),
        (
            (
                Link(row),
                shown_letter_state(row)[1],
                in_zone(row.send_at, subscribable) if row.send_at else "when you send it",
                when(row.changed_at, zone=subscribable.zone),
            )
            for row in rows
        ),
        "No drafts.",
    )
    return (table, Button(add_url(Broadcast, subscribable=subscribable.pk), "Write an email"))


def drafts_and_scheduled(user: Any) -> Part:
    """List the newest unsent emails of all their newsletters in one time zone; "" if there are none."""
    unsent = visible_to(user, unsent_letters(), "subscribable")
    rows = unsent.select_related("subscribable").defer("markdown")[:LETTERS_SHOWN]
    return Table(
        ("email", "newsletter", "state", "scheduled"),
        ((Link(row), row.subscribable, shown_letter_state(row)[1], when(row.send_at)) for row in rows),
        "",
    )
