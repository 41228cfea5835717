"""Make an issue of a letter that an editor wrote, and publish it.

The letter is rendered before the transaction, which locks it and checks it again. So only one of two workers
makes the issue, and a worker that dies changes nothing.
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
from common.html.clean import html_of
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from common.text import without_controls
from delivery.issues.audience import WaitsForPerson, audience_words, named_now
from delivery.issues.broadcasts import locked_letter, refuse_changed, refuse_empty, scheduled_letters
from delivery.issues.contents import newsletter_facts
from delivery.issues.publish import publish
from delivery.models import Broadcast, Issue, IssueItem
from delivery.rendering import subjects
from delivery.rendering.issue import Rendered, render_issue
from delivery.rendering.typed_fields import TypedFields
from delivery.rules.audience import EVERY_READER, Audience
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable

log = logging.getLogger(__name__)

FIRST_LETTER_BACKOFF = timedelta(minutes=1)
LONGEST_LETTER_BACKOFF = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LetterText:
    subject: str
    markdown: str


def letter_text(letter: Broadcast) -> LetterText:
    return LetterText(letter.subject, letter.markdown)


@dataclass(frozen=True, slots=True)
class MadeLetter:
    """Rendered letter, and its archived entry without any reader's data."""

    rendered: Rendered
    entry: Entry


def make_letter(
    subscribable: Subscribable, text: LetterText, *, now: datetime, audience: Audience = EVERY_READER
) -> MadeLetter:
    """Render a post in the newsletter's theme. Raises LetterError.

    Addresses such as /media/cat.png are relative to SITE_URL.
    """
    base = f"{settings.SITE_URL}/"
    plain = newsletter_facts(subscribable, [], now=now)
    fields = TypedFields(plain.params)
    content = fields.as_links(html_of(fields.in_markdown(text.markdown), base=base), base=base)
    entry = Entry(guid="letter", title=fields.in_subject(text.subject), content=content)
    facts = replace(
        plain,
        arrangement="each",
        template="post",
        content="full",
        subject=entry.title,
        entries=(entry,),
        other_newsletters=tuple(audience.others.values()),
        # Letters for some tags are not archived.
        archive_url="" if audience.tags else plain.archive_url,
    )
    shared = {
        "from": facts.from_email,
        "replyto": facts.reply_to,
        "archivelink": plain.archive_url,
        "weblink": plain.archive_url,
    }
    kept = replace(
        entry,
        title=fields.for_nobody(entry.title, shared, is_html=False),
        content=fields.for_nobody(content, shared, is_html=True),
    )
    rendered = replace(render_issue(facts), title=subjects.title([kept], facts.language))
    return MadeLetter(fields.as_placeholders(rendered), kept)


def send_letter(*, letter_id: int, version: int, now: datetime) -> int:
    """Publish a letter now, even if scheduled. Return the number of queued letters.

    Raises CannotAct if it was sent or `version` is outdated, LetterError if it cannot be rendered.
    """
    letter = Broadcast.objects.select_related("subscribable").filter(pk=letter_id).first()
    if letter is None:
        raise CannotAct("This email no longer exists.")
    refuse_changed(letter, version)
    refuse_empty(letter)
    made = _make(letter, now)
    with transaction.atomic():
        locked = locked_letter(letter_id)
        # The rendered text is current.
        refuse_changed(locked, version)
        return _publish(locked, made, now)


def release_letters(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publish due letters, within the budget. Return how many."""
    left, released = TimeBudget(budget), 0
    due = scheduled_letters(clock()).order_by("send_at", "pk")
    for pk in list(due.values_list("pk", flat=True)):
        if left.is_spent:
            break
        released += release_letter(letter_id=pk, now=clock())
    return released


def release_letter(*, letter_id: int, now: datetime) -> bool:
    """Publish a letter if it is due.

    A failure is recorded and retried, except WaitsForPerson.
    """
    try:
        due = scheduled_letters(now).filter(pk=letter_id)
        letter = due.select_related("subscribable").first()
        if letter is None:
            return False
        made = _make(letter, now)
        with transaction.atomic():
            # The letter may have been sent or unscheduled while waiting for the lock.
            Broadcast.objects.select_for_update(no_key=True).filter(pk=letter_id).values_list("pk").first()
            if not due.filter(version=letter.version).exists():
                return False
            _publish(locked_letter(letter_id), made, now)
    except Exception as error:
        log.exception("sending a scheduled email failed", extra={"letter": letter_id})
        _note_failure(letter_id, error, now)
        return False
    return True


def _make(letter: Broadcast, now: datetime) -> MadeLetter:
    return make_letter(letter.subscribable, letter_text(letter), now=now, audience=named_now(letter))


def _publish(letter: Broadcast, made: MadeLetter, now: datetime) -> int:
    """Store the issue and a delivery for each current reader. Raises WaitsForPerson without readers."""
    rendered = made.rendered
    issue = Issue.objects.create(
        subscribable=letter.subscribable,
        # Collections have numbers or times here.
        within_type_id=f"letter-{letter.pk}",
        audience=letter.audience,
        token=secrets.token_hex(12),
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        placeholders=rendered.placeholders,
        created_at=now,
    )
    IssueItem.objects.create(
        issue=issue, position=0, entry=replace(made.entry, guid=f"letter-{letter.pk}").to_json()
    )
    letter.issue, letter.next_try_at = issue, None
    letter.save(update_fields=["issue", "next_try_at"])
    queued = publish(issue_id=issue.pk, now=now)
    if not queued:
        # Rolls everything back.
        raise WaitsForPerson(
            f"Nobody would get it: it is for {audience_words(letter)}, and “{letter.subscribable}” has no "
            "such reader now."
        )
    return queued


@transaction.atomic
def _note_failure(letter_id: int, error: Exception, now: datetime) -> None:
    letter = scheduled_letters(now).select_for_update().filter(pk=letter_id).first()
    if letter is None:
        return
    letter.failures += 1
    if isinstance(error, WaitsForPerson):
        letter.last_error, letter.next_try_at = str(error), None
    else:
        letter.last_error = without_controls(f"{type(error).__name__}: {error}")[:2000]
        letter.next_try_at = now + delay(
            letter.failures, first=FIRST_LETTER_BACKOFF, limit=LONGEST_LETTER_BACKOFF
        )
    letter.save(update_fields=["failures", "last_error", "next_try_at"])
