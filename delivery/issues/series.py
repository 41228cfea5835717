"""The series of a newsletter: emails for each new subscriber, days apart.

An email of a series is a Broadcast with a place. Switched on, it has an issue that is never published:
send_series.py queues it for each subscriber in time.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet, Subquery
from django.utils import translation

from channels.languages import spoken
from common.ports.panels import CannotAct
from delivery.issues.broadcasts import (
    begin_letter,
    create_issue,
    letter_guid,
    locked_letter,
    refuse_changed,
    refuse_empty,
    render_letter,
)
from delivery.issues.contents import Collected, card_of, issue_facts
from delivery.issues.corrected import as_sent
from delivery.issues.draft_edits import replace_text
from delivery.models import Broadcast, Issue, IssueCard, IssueItem
from delivery.rendering import subjects
from delivery.rendering.errors import Rendered
from delivery.rendering.issue import render_issue
from delivery.rules.audience import SERIES, Audience
from delivery.rules.posts import Post
from delivery.rules.series import LONGEST_WAIT, MOST_EMAILS
from feeds.models import ItemVersion
from feeds.parsing.entry import Entry
from feeds.polling.whole import has_text
from subscriptions.models import SeriesRun, Subscribable
from subscriptions.rules.edits import moved

log = logging.getLogger(__name__)


def emails_of(newsletter: Subscribable) -> "QuerySet[Broadcast]":
    """Return them in order, drafts too."""
    rows = Broadcast.objects.filter(subscribable=newsletter, series_place__isnull=False)
    return rows.select_related("issue", "subscribable").order_by("series_place", "pk")


def under_way(newsletter: Subscribable) -> "QuerySet[SeriesRun]":
    return SeriesRun.objects.filter(newsletter=newsletter, ended_at=None)


@transaction.atomic
def add_email(*, newsletter: Subscribable, author: str, now: datetime, **texts: Any) -> Broadcast:
    """Create a draft at the end of the series. Raises CannotAct."""
    letter = begin_letter(subscribable=newsletter, author=author, now=now, **texts)
    take_email(letter_id=letter.pk, days=None, now=now)
    letter.refresh_from_db()
    return letter


@transaction.atomic
def take_email(*, letter_id: int, days: int | None, now: datetime) -> None:
    """Put a draft, or an email that was removed, at the end of the series. Raises CannotAct."""
    letter = Broadcast.objects.filter(pk=letter_id, series_place=None, audience__has_key=SERIES).first()
    letter = letter or locked_letter(letter_id)
    if letter.send_at is not None or (letter.issue is not None and letter.issue.pruned_at):
        raise CannotAct(f"“{letter}” is scheduled, or its text was deleted after KEEP_DAYS.")
    if letter.series_place is None:
        last = _last_place(letter.subscribable)
        letter.audience = Audience(series={letter.subscribable_id: str(letter.subscribable)}).to_json()
        letter.series_place, letter.series_days = last + 1, min(last, 1)
        letter.save(update_fields=["series_place", "series_days", "audience"])
    if days is not None:
        set_days(letter_id=letter.pk, days=days, now=now)


def archived_posts(newsletter: Subscribable) -> "QuerySet[IssueItem]":
    """Return posts that it sent and that are on its pages, oldest first, each once."""
    out = Issue.objects.filter(subscribable=newsletter, published_at__isnull=False, cancelled_at=None)
    issues = out.filter(is_hidden=False, audience={})
    rows = IssueItem.objects.filter(issue__in=issues, item__isnull=False)
    first = rows.filter(item=OuterRef("item")).order_by("issue", "pk").values("pk")[:1]
    return rows.filter(pk=Subquery(first)).order_by("issue__published_at", "issue", "-position")


def add_posts(*, newsletter: Subscribable, posts: Sequence[IssueItem], author: str, now: datetime) -> int:
    """Add posts of the archive at the end, a day apart, switched on. Return how many are new.

    Raises CannotAct, LetterError.
    """
    there = set(emails_of(newsletter).values_list("post_item", flat=True))
    new = [post for post in posts if post.item_id not in there]
    for post in new:
        title = str(post.entry.get("title") or post.entry.get("link") or "")[:200]
        with transaction.atomic():
            letter = add_email(newsletter=newsletter, author=author, now=now, subject=title)
            letter.post_issue_id, letter.post_item_id = post.issue_id, post.item_id
            letter.save(update_fields=["post_issue", "post_item"])
        switch_on(letter_id=letter.pk, version=letter.version, now=now)
    return len(new)


def switch_on(*, letter_id: int, version: int, now: datetime) -> None:
    """Let subscribers get the email when they come to it. Raises CannotAct, LetterError."""
    letter = _letter(letter_id)
    refuse_changed(letter, version)
    made = _rendered(letter, now)
    with transaction.atomic():
        locked = _letter(letter_id, lock=True)
        refuse_changed(locked, version)
        if locked.issue_id is not None:
            return
        # There is nothing to publish or finish, and it has no page.
        facts: dict[str, Any] = {"published_at": now, "finished_at": now, "is_hidden": True}
        issue = create_issue(letter, made, now, item_id=letter.post_item_id, **facts)
        IssueCard.objects.bulk_create([card_of(issue, [made[1]])])
        locked.issue, locked.changed_at = issue, now
        locked.save(update_fields=["issue", "changed_at"])


@transaction.atomic
def remove_email(*, letter_id: int) -> None:
    """Take an email out of the series; a draft becomes an ordinary one. Raises CannotAct."""
    letter = _letter(letter_id, lock=True)
    letter.series_place = None
    if letter.issue_id is None:
        letter.audience = {}
    letter.save(update_fields=["series_place", "audience"])


@transaction.atomic
def move_email(*, letter_id: int, way: str) -> None:
    """Move it: `way` as in subscriptions.rules.edits. Raises CannotAct."""
    letter = _letter(letter_id)
    _last_place(letter.subscribable)
    order = list(emails_of(letter.subscribable).values_list("pk", flat=True))
    for place, pk in enumerate(moved(order, letter_id, way), 1):
        Broadcast.objects.filter(pk=pk).update(series_place=place)


@transaction.atomic
def set_days(*, letter_id: int, days: int, now: datetime) -> None:
    """Set its distance from the email before it, or of the first from the sign-up. Raises CannotAct."""
    if not 0 <= days <= LONGEST_WAIT:
        raise CannotAct(f"Give 0 to {LONGEST_WAIT} days.", "days")
    letter = _letter(letter_id, lock=True)
    letter.series_days = days
    letter.save(update_fields=["series_days"])
    # Who waits for it may get it earlier.
    under_way(letter.subscribable).filter(due_at__gt=now).update(due_at=now)


def _last_place(newsletter: Subscribable) -> int:
    """Lock the newsletter, whose series has one order. Raises CannotAct if it is full."""
    list(Subscribable.objects.select_for_update(no_key=True).filter(pk=newsletter.pk).values_list("pk"))
    rows = emails_of(newsletter).order_by()
    if rows.count() >= MOST_EMAILS:
        raise CannotAct(f"A series has at most {MOST_EMAILS} emails.")
    last: int | None = rows.aggregate(last=Max("series_place"))["last"]
    return last or 0


def _letter(letter_id: int, *, lock: bool = False) -> Broadcast:
    rows = Broadcast.objects.select_related("subscribable", "issue")
    rows = rows.select_for_update(no_key=True, of=("self",)) if lock else rows
    letter = rows.filter(pk=letter_id, series_place__isnull=False).first()
    if letter is None:
        raise CannotAct("This email no longer belongs to a series.")
    return letter


def _rendered(letter: Broadcast, now: datetime) -> tuple[Rendered, Entry]:
    """Raises CannotAct, LetterError."""
    if letter.post_item_id is None:
        refuse_empty(letter)
        return render_letter(letter, now)
    if (entry := _newest(letter)) is None:
        row = IssueItem.objects.filter(issue=letter.post_issue_id, item=letter.post_item_id).first()
        if row is None:
            raise CannotAct("This post is no longer in the archive.")
        entry = Entry.from_json(row.entry)
    return _of_post(letter, entry, now), entry


def _newest(letter: Broadcast, *, since: datetime | None = None) -> Entry | None:
    """Return the feed's corrected text, if there is one. May run own code."""
    version = ItemVersion.objects.filter(item=letter.post_item_id).order_by("pk").last()
    # Versions of posts with their page's text are the feed's excerpts.
    if version is None or (since and version.seen_at <= since) or has_text(version.item_id):
        return None
    return as_sent(letter.subscribable, Entry.from_json(version.entry))


def _of_post(letter: Broadcast, entry: Entry, now: datetime) -> Rendered:
    contents = Collected(letter.subscribable, letter_guid(letter), None, None, (Post(0, 0, entry),))
    facts = replace(issue_facts(contents, now=now), arrangement="each", template="post", archive_url="")
    rendered = render_issue(replace(facts, is_dated=False))
    with translation.override(spoken(letter.subscribable.language)):
        return replace(rendered, title=subjects.title([entry], letter.subscribable.language))


def refresh_posts(newsletter: Subscribable, *, now: datetime) -> None:
    """Take corrections of the feeds into the series' posts. Errors change nothing and are logged."""
    posts = emails_of(newsletter).filter(post_item__isnull=False, issue__isnull=False)
    newer = ItemVersion.objects.filter(item=OuterRef("post_item"), seen_at__gt=OuterRef("changed_at"))
    for letter in posts.filter(Exists(newer)):
        try:
            if (entry := _newest(letter, since=letter.changed_at)) is not None and letter.issue is not None:
                rendered = _of_post(letter, entry, now)
                replace_text(letter.issue, rendered, letter.post_item_id, entry.to_json(), now=now)
        except Exception:
            log.exception("a correction was not taken into a series", extra={"letter": letter.pk})
        # Once, even if it failed.
        Broadcast.objects.filter(pk=letter.pk).update(changed_at=now)
