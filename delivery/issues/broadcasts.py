"""Write, save, schedule and unschedule letters. `broadcast_issue.py` sends them.

A scheduled letter cannot be edited, so that no half-written text is sent.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from common.ports.panels import CannotAct
from common.text import one_line, without_controls
from delivery.issues.approve import LATEST_RELEASE
from delivery.models import Broadcast
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.rules.audience import EVERY_READER, Audience
from subscriptions.models import Subscribable

MOST_MARKDOWN = 100_000
# The page saves while somebody types, and its time may be that of the click.
SCHEDULED_AHEAD = timedelta(minutes=1)


class ChangedMeanwhile(CannotAct):
    """The letter was saved by somebody else meanwhile."""


def unsent_letters() -> "QuerySet[Broadcast]":
    """Return drafts and scheduled letters, the next to be sent first."""
    rows = Broadcast.objects.filter(issue=None).select_related("subscribable")
    return rows.order_by("send_at", "-changed_at", "-pk")


def scheduled_letters(now: datetime) -> "QuerySet[Broadcast]":
    """Return letters that are due and not waiting for a retry."""
    return Broadcast.objects.filter(issue=None, send_at__lte=now, next_try_at__lte=now)


def in_letter_state(rows: "QuerySet[Broadcast]", state: str) -> "QuerySet[Broadcast]":
    """Filter letters by one of LETTER_STATES."""
    if state == "sent":
        return rows.filter(issue__isnull=False)
    return rows.filter(issue=None, send_at__isnull=state == "draft")


def begin_letter(
    *,
    subscribable: Subscribable,
    author: str,
    now: datetime,
    subject: str = "",
    markdown: str = "",
    audience: Audience = EVERY_READER,
) -> Broadcast:
    """Create a draft. Raises CannotAct for a bridge or too long a text."""
    if subscribable.channel != "email":
        raise CannotAct(f"“{subscribable}” is a bridge. Choose an email newsletter.", "subscribable")
    texts = _texts(subject, markdown)
    return Broadcast.objects.create(
        subscribable=subscribable,
        author=author[:150],
        created_at=now,
        changed_at=now,
        audience=audience.to_json(),
        **texts,
    )


@transaction.atomic
def save_letter(
    *,
    letter_id: int,
    subject: str | None = None,
    markdown: str | None = None,
    audience: Audience | None = None,
    version: int,
    now: datetime,
) -> Broadcast:
    """Save a draft of this version; None keeps a value.

    A change of audience makes a new version, so that a letter goes only to the people that the sender's page
    showed. Raises ChangedMeanwhile or CannotAct.
    """
    letter = draft_letter(letter_id, version)
    wanted: dict[str, Any] = _texts(
        letter.subject if subject is None else subject, letter.markdown if markdown is None else markdown
    )
    if audience is not None:
        wanted["audience"] = audience.to_json()
    if all(getattr(letter, name) == value for name, value in wanted.items()):
        return letter
    for name, value in wanted.items():
        setattr(letter, name, value)
    letter.version, letter.changed_at = letter.version + 1, now
    letter.save(update_fields=[*wanted, "version", "changed_at"])
    return letter


@transaction.atomic
def schedule_letter(*, letter_id: int, at: datetime, version: int, now: datetime) -> None:
    """Schedule a draft. Raises CannotAct."""
    letter = draft_letter(letter_id, version)
    refuse_empty(letter)
    if at < now + SCHEDULED_AHEAD:
        raise CannotAct("That time has passed, or is less than a minute away. Give a later one.", "at")
    if at - now > LATEST_RELEASE:
        raise CannotAct("That is more than a year away. Give an earlier time.", "at")
    letter.send_at = letter.next_try_at = at
    letter.failures, letter.last_error = 0, ""
    letter.save(update_fields=["send_at", "next_try_at", "failures", "last_error"])


@transaction.atomic
def unschedule_letter(*, letter_id: int) -> None:
    """Make a draft of a scheduled letter. Raises CannotAct if it was sent."""
    letter = locked_letter(letter_id)
    letter.send_at = letter.next_try_at = None
    letter.failures, letter.last_error = 0, ""
    letter.save(update_fields=["send_at", "next_try_at", "failures", "last_error"])


@transaction.atomic
def drop_letter(*, letter_id: int) -> None:
    """Delete a letter. Raises CannotAct if it was sent."""
    locked_letter(letter_id).delete()


def locked_letter(letter_id: int) -> Broadcast:
    """Return an unsent letter, locked. Raises CannotAct."""
    rows = Broadcast.objects.select_for_update(no_key=True, of=("self",)).select_related("subscribable")
    letter = rows.filter(pk=letter_id).first()
    if letter is None:
        raise CannotAct("This email no longer exists.")
    if letter.issue_id is not None:
        raise CannotAct(f"“{letter}” was already sent. Its issue is {letter.issue_id}.")
    return letter


def draft_letter(letter_id: int, version: int) -> Broadcast:
    """Return a draft of this version, locked. Raises CannotAct."""
    letter = locked_letter(letter_id)
    if letter.send_at is not None:
        raise CannotAct(f"“{letter}” is scheduled. Take it off the schedule first, then change it.")
    refuse_changed(letter, version)
    return letter


def refuse_changed(letter: Broadcast, version: int) -> None:
    if letter.version != version:
        raise ChangedMeanwhile(
            f"“{letter}” was changed meanwhile, perhaps in another window: open its page anew. "
            "Copy first what you wrote here.",
            by_api=f"“{letter}” was changed meanwhile: it has version {letter.version} now. Get it again.",
        )


def refuse_empty(letter: Broadcast) -> None:
    if not letter.subject:
        raise CannotAct("It has no subject. Write one, then send it.", "subject")
    if not letter.markdown.strip():
        raise CannotAct("It has no text. Write something, then send it.", "markdown")


def _texts(subject: str, markdown: str) -> dict[str, str]:
    texts = {
        "subject": one_line(subject),
        "markdown": without_controls(markdown.replace("\r\n", "\n").replace("\r", "\n")),
    }
    for name, called, most in (("subject", "subject", LONGEST_SUBJECT), ("markdown", "text", MOST_MARKDOWN)):
        if len(texts[name]) > most:
            said = f"The {called} has {len(texts[name]):,} characters. The limit is {most:,}."
            raise CannotAct(said, name)
    return texts
