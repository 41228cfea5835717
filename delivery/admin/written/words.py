"""What the admin says about a letter that an editor writes: how it stands, and to whom it goes."""

from datetime import datetime
from typing import Any

from delivery.accounts.accounts import account_words
from delivery.issues.audience import audience_words, recipients_of
from delivery.models import WrittenLetter
from subscriptions.models import Subscribable
from subscriptions.rules.words import moment_words

LETTER_STATE_WORDS = {
    "draft": "draft",
    "scheduled": "scheduled",
    "trouble": "could not be made",
    "sent": "gone out",
}


def standing_of(letter: WrittenLetter) -> str:
    """One of LETTER_STATE_WORDS."""
    return "trouble" if letter.state == "scheduled" and letter.last_error else letter.state


def in_zone(moment: datetime, subscribable: Subscribable) -> str:
    """A moment as the newsletter's readers would say it, with the zone."""
    return moment_words(moment, subscribable.zone)


def goes_to(letter: WrittenLetter) -> str:
    """ "1,234 readers: everybody who is confirmed"."""
    count = recipients_of(letter).count()
    if not count:
        return "nobody so far: it has no confirmed subscriber. It will stand in the archive all the same."
    return f"{count:,} {'reader' if count == 1 else 'readers'} as of now: {audience_words(letter)}"


def before_sending(letter: WrittenLetter, from_email: str) -> list[tuple[str, Any]]:
    """What whoever sends it should know first."""
    newsletter = letter.subscribable
    rows = [
        ("Newsletter", str(newsletter)),
        ("Subject", letter.subject),
        ("To", goes_to(letter)),
        ("From", newsletter.from_email or from_email),
        ("Through", account_words(newsletter)),
    ]
    if newsletter.reply_to:
        rows.append(("Answers go to", newsletter.reply_to))
    if newsletter.visibility == Subscribable.Visibility.PRIVATE:
        rows.append(("In the archive", "No: the newsletter is private."))
    if newsletter.sending_paused_at is not None:
        rows.append(("But", "The newsletter is paused: its letters wait until that ends."))
    return rows
