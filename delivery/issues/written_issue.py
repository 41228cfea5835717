"""Makes an issue of a letter that an editor wrote, and publishes it, in one transaction.

It is rendered before that, outside of any transaction. The transaction locks the letter and looks again: of
two workers one makes the issue, and one that dies leaves the letter as it was.
"""

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from common.backoff import delay
from common.clock import utcnow
from common.html.markdown import html_of
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from common.text import without_controls
from delivery.issues.contents import newsletter_facts
from delivery.issues.publish import publish
from delivery.issues.written_letters import locked_letter, refuse_changed, refuse_empty, scheduled_letters
from delivery.models import Issue, IssueItem, WrittenLetter
from delivery.rendering.issue import IssueFacts, Rendered, render_issue
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable

log = logging.getLogger(__name__)

FIRST_LETTER_BACKOFF = timedelta(minutes=1)
LONGEST_LETTER_BACKOFF = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LetterText:
    """What stands in a letter."""

    subject: str
    markdown: str


def letter_text(letter: WrittenLetter) -> LetterText:
    return LetterText(letter.subject, letter.markdown)


def letter_facts(subscribable: Subscribable, text: LetterText, *, now: datetime) -> IssueFacts:
    """What it is rendered from: a post without a feed, in the newsletter's look, under the typed subject.

    An address such as /media/cat.png is one of this site.
    """
    content = html_of(text.markdown, base=f"{settings.SITE_URL}/")
    entry = Entry(guid="letter", title=text.subject, content=content)
    facts = newsletter_facts(subscribable, [entry], now=now)
    return replace(facts, arrangement="each", template="post", subject=text.subject)


def send_letter(*, letter_id: int, version: int, now: datetime) -> int:
    """Publishes it now, as this person has seen it, even if it is scheduled. Returns how many were queued.

    Raises CannotAct when it has gone out or was changed, and LetterError where it cannot be rendered.
    """
    letter = WrittenLetter.objects.select_related("subscribable").filter(pk=letter_id).first()
    if letter is None:
        raise CannotAct("There is no such letter any more.")
    refuse_changed(letter, version)
    refuse_empty(letter)
    facts = letter_facts(letter.subscribable, letter_text(letter), now=now)
    rendered = render_issue(facts)
    with transaction.atomic():
        locked = locked_letter(letter_id)
        # Then its text is the one that was rendered.
        refuse_changed(locked, version)
        return _publish(locked, facts, rendered, now)


def release_letters(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publishes the scheduled letters whose time has come, as far as the budget goes. Returns how many."""
    left, released = TimeBudget(budget), 0
    due = scheduled_letters(clock()).order_by("send_at", "pk")
    for pk in list(due.values_list("pk", flat=True)):
        if left.is_spent:
            break
        released += release_letter(letter_id=pk, now=clock())
    return released


def release_letter(*, letter_id: int, now: datetime) -> bool:
    """Publishes one if it is due. A failure is recorded on it and tried again later."""
    try:
        due = scheduled_letters(now).filter(pk=letter_id)
        letter = due.select_related("subscribable").first()
        if letter is None:
            return False
        facts = letter_facts(letter.subscribable, letter_text(letter), now=now)
        rendered = render_issue(facts)
        with transaction.atomic():
            # Locked first: whoever sent it, or took it off the schedule, has done so by then.
            WrittenLetter.objects.select_for_update(no_key=True).filter(pk=letter_id).values_list(
                "pk"
            ).first()
            if not due.filter(version=letter.version).exists():
                return False
            _publish(locked_letter(letter_id), facts, rendered, now)
    except Exception as error:
        log.exception("sending a scheduled letter failed", extra={"letter": letter_id})
        _note_failure(letter_id, error, now)
        return False
    return True


def _publish(letter: WrittenLetter, facts: IssueFacts, rendered: Rendered, now: datetime) -> int:
    """Stores the issue of a locked letter, and a delivery for each of its readers."""
    issue = Issue.objects.create(
        subscribable=letter.subscribable,
        # No collection's: those are numbers and instants.
        within_type_id=f"letter-{letter.pk}",
        audience=letter.audience,
        token=secrets.token_hex(12),
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        holes=rendered.holes,
        created_at=now,
    )
    (entry,) = facts.entries
    IssueItem.objects.create(
        issue=issue, position=0, entry=replace(entry, guid=f"letter-{letter.pk}").to_json()
    )
    letter.issue, letter.next_try_at = issue, None
    letter.save(update_fields=["issue", "next_try_at"])
    return publish(issue_id=issue.pk, now=now)


@transaction.atomic
def _note_failure(letter_id: int, error: Exception, now: datetime) -> None:
    letter = scheduled_letters(now).select_for_update().filter(pk=letter_id).first()
    if letter is None:
        return
    letter.failures += 1
    letter.last_error = without_controls(f"{type(error).__name__}: {error}")[:2000]
    letter.next_try_at = now + delay(
        letter.failures, first=FIRST_LETTER_BACKOFF, limit=LONGEST_LETTER_BACKOFF
    )
    letter.save(update_fields=["failures", "last_error", "next_try_at"])
