"""Write, save, schedule and send letters.

A scheduled one cannot be edited, so that no half-written text is sent.
The letter is rendered before the transaction, which locks it and checks it again. So only one of two workers
makes the issue, and a worker that dies changes nothing.
"""

import logging
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext

from channels.languages import spoken
from common.backoff import delay
from common.clock import utcnow
from common.html.clean import html_of
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from common.text import one_line, shortened, without_controls
from delivery.issues.audience import WaitsForPerson, audience_of, audience_words, named_now
from delivery.issues.contents import newsletter_facts
from delivery.issues.publish import LATEST_RELEASE, publish
from delivery.models import Broadcast, Issue, IssueItem
from delivery.models.issue import LETTER_GUID
from delivery.rendering import subjects
from delivery.rendering.errors import Rendered, TypedFields
from delivery.rendering.issue import render_issue
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.rules.audience import EVERY_READER, Audience, is_for_some
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable

MOST_MARKDOWN = 100_000
# The page saves while somebody types, and its time may be that of the click.
SCHEDULED_AHEAD = timedelta(minutes=1)
log = logging.getLogger(__name__)

FIRST_LETTER_BACKOFF = timedelta(minutes=1)
LONGEST_LETTER_BACKOFF = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LetterText:
    subject: str
    markdown: str


class ChangedMeanwhile(CannotAct):
    """The letter was saved by somebody else meanwhile."""


def unsent_letters() -> "QuerySet[Broadcast]":
    """Return drafts and scheduled letters, the next to be sent first."""
    rows = Broadcast.objects.filter(issue=None, series_place=None).select_related("subscribable")
    return rows.order_by("send_at", "-changed_at", "-pk")


def scheduled_letters(now: datetime) -> "QuerySet[Broadcast]":
    """Return letters that are due and not waiting for a retry."""
    return Broadcast.objects.filter(issue=None, send_at__lte=now, next_try_at__lte=now)


def in_letter_state(rows: "QuerySet[Broadcast]", state: str) -> "QuerySet[Broadcast]":
    """Filter letters by one of LETTER_STATES."""
    if state == "series":
        return rows.filter(series_place__isnull=False)
    rows = rows.filter(series_place=None)
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
    return Broadcast.objects.create(
        subscribable=subscribable,
        author=author[:150],
        created_at=now,
        changed_at=now,
        audience=audience.to_json(),
        **_texts(subject, markdown),
    )


def begin_correction(*, issue: Issue, author: str, now: datetime) -> Broadcast:
    """Create a draft for people who got the issue, or its text before it was corrected."""
    with translation.override(spoken(issue.subscribable.language)):
        subject = gettext("Correction: %(title)s") % {"title": issue.title}
    to = replace(audience_of(issue), got={issue.pk: issue.title})
    subject = shortened(subject, LONGEST_SUBJECT)
    return begin_letter(subscribable=issue.subscribable, author=author, now=now, subject=subject, audience=to)


def copy_letter(*, letter: Broadcast, author: str, now: datetime) -> Broadcast:
    """Create a draft with the text and recipients of another email."""
    return begin_letter(
        subscribable=letter.subscribable,
        author=author,
        now=now,
        subject=letter.subject,
        markdown=letter.markdown,
        audience=audience_of(letter),
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
        _refuse_series(letter)
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
    _refuse_series(letter)
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


def refuse_empty(letter: Broadcast | LetterText) -> None:
    if not letter.subject:
        raise CannotAct("It has no subject. Write one, then send it.", "subject")
    if not letter.markdown.strip():
        raise CannotAct("It has no text. Write something, then send it.", "markdown")


def _refuse_series(letter: Broadcast) -> None:
    if letter.series_place is not None:
        raise CannotAct(f"“{letter}” belongs to the series. Switch it on there, or remove it first.")


def checked_text(text: LetterText) -> LetterText:
    """Return a sent letter's new text. Raises CannotAct."""
    tidy = LetterText(**_texts(text.subject, text.markdown))
    refuse_empty(tidy)
    return tidy


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


def letter_guid(letter: Broadcast) -> str:
    return f"{LETTER_GUID}{letter.pk}"


def letter_text(letter: Broadcast) -> LetterText:
    return LetterText(letter.subject, letter.markdown)


def make_letter(
    subscribable: Subscribable, text: LetterText, *, now: datetime, audience: Audience = EVERY_READER
) -> tuple[Rendered, Entry]:
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
        is_dated=not audience.series,
        subject=entry.title,
        entries=(entry,),
        other_newsletters=tuple(audience.others.values()),
        # Letters for some tags are not archived.
        archive_url="" if is_for_some(audience.to_json()) else plain.archive_url,
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
    return fields.as_placeholders(rendered), kept


def send_letter(*, letter_id: int, version: int, now: datetime) -> int:
    """Publish a letter now, even if scheduled. Return the number of queued letters.

    Raises CannotAct if it was sent or `version` is outdated, LetterError if it cannot be rendered.
    """
    letter = Broadcast.objects.select_related("subscribable").filter(pk=letter_id).first()
    if letter is None:
        raise CannotAct("This email no longer exists.")
    refuse_changed(letter, version)
    _refuse_series(letter)
    refuse_empty(letter)
    made = render_letter(letter, now)
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
        made = render_letter(letter, now)
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


def render_letter(letter: Broadcast, now: datetime) -> tuple[Rendered, Entry]:
    """Raises LetterError."""
    text, audience = letter_text(letter), named_now(letter)
    rendered, entry = make_letter(letter.subscribable, text, now=now, audience=audience)
    return rendered, replace(entry, guid=letter_guid(letter))


def create_issue(
    letter: Broadcast, made: tuple[Rendered, Entry], now: datetime, item_id: int | None = None, **facts: Any
) -> Issue:
    """Store the issue with its only post: of an item, or what the editor wrote."""
    rendered, entry = made
    issue = Issue.objects.create(
        subscribable=letter.subscribable,
        # Collections have numbers or times here.
        within_type_id=letter_guid(letter),
        audience=letter.audience,
        token=secrets.token_hex(12),
        **asdict(rendered),
        created_at=now,
        **facts,
    )
    IssueItem.objects.create(issue=issue, item_id=item_id, position=0, entry=entry.to_json())
    return issue


def _publish(letter: Broadcast, made: tuple[Rendered, Entry], now: datetime) -> int:
    """Store the issue and a delivery for each current reader. Raises WaitsForPerson without readers."""
    issue = create_issue(letter, made, now)
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
