"""The series of a newsletter: emails for each new subscriber, days apart.

An email of a series is a Broadcast with a place. Switched on, it has an issue that is never published:
`send_series` queues it for each subscriber in time. A SeriesRun says what a subscriber has, so that order and
days may change, and the ledger lets nobody have an issue twice.
"""

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import translation

from channels.languages import spoken
from common.clock import utcnow
from common.db.bulk import update_rows
from common.db.prepared import AnyRows
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from delivery.issues.audience import named_now
from delivery.issues.broadcasts import (
    begin_letter,
    letter_guid,
    letter_text,
    locked_letter,
    make_letter,
    refuse_changed,
    refuse_empty,
)
from delivery.issues.contents import Collected, card_of, issue_facts
from delivery.issues.corrected import as_sent
from delivery.issues.draft_edits import replace_text
from delivery.issues.pause import NotRetryable, locked_issue, retry_delivery
from delivery.issues.publish import queue
from delivery.models import Broadcast, Delivery, Issue, IssueCard, IssueItem, Restore
from delivery.models.delivery import NOT_FINISHED
from delivery.rendering import subjects
from delivery.rendering.errors import Rendered
from delivery.rendering.issue import render_issue
from delivery.rules.audience import Audience
from delivery.rules.posts import Post
from delivery.rules.series import (
    LONGEST_WAIT,
    LOOK_AGAIN,
    MOST_EMAILS,
    Act,
    Last,
    RunFacts,
    Step,
    decide,
    decide_restored,
    due_at,
    next_step,
)
from feeds.models import ItemVersion
from feeds.parsing.entry import Entry
from feeds.polling.whole import has_text
from subscriptions.models import SeriesRun, Subscribable, Subscription, Suppression
from subscriptions.rules.edits import moved
from subscriptions.subscribers.series import begin_series

log = logging.getLogger(__name__)
RUNS_A_BATCH = 500
# Marks their deliveries.
SERIES_KEY = "series"
BY_HAND = "Cancelled by hand."
# For rows that had no lane yet, and after an error.
SOON, AFTER_ERROR = timedelta(minutes=1), timedelta(minutes=15)


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
    letter = Broadcast.objects.filter(pk=letter_id, series_place=None, audience__has_key=SERIES_KEY).first()
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
    rendered, entry = _rendered(letter, now)
    with transaction.atomic():
        locked = _letter(letter_id, lock=True)
        refuse_changed(locked, version)
        if locked.issue_id is not None:
            return
        issue = Issue.objects.create(
            subscribable=letter.subscribable,
            within_type_id=letter_guid(letter),
            audience=letter.audience,
            token=secrets.token_hex(12),
            **asdict(rendered),
            created_at=now,
            # There is nothing to publish or finish, and it has no page.
            published_at=now,
            finished_at=now,
            is_hidden=True,
        )
        IssueItem.objects.create(issue=issue, item_id=letter.post_item_id, position=0, entry=entry.to_json())
        IssueCard.objects.bulk_create([card_of(issue, [entry])])
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
        rendered, entry = make_letter(
            letter.subscribable, letter_text(letter), now=now, audience=named_now(letter)
        )
        return rendered, replace(entry, guid=letter_guid(letter))
    entry = _newest(letter) or _archived(letter)
    return _of_post(letter, entry, now), entry


def _archived(letter: Broadcast) -> Entry:
    row = IssueItem.objects.filter(issue=letter.post_issue_id, item=letter.post_item_id).first()
    if row is None:
        raise CannotAct("This post is no longer in the archive.")
    return Entry.from_json(row.entry)


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


def due_series(now: datetime) -> "QuerySet[Subscribable]":
    """Return newsletters whose series may have something to send."""
    rows = Subscribable.objects.filter(
        welcome="series", stopped=False, sending_paused_at=None, channel="email"
    )
    due = SeriesRun.objects.filter(newsletter=OuterRef("pk"), due_at__lte=now).order_by("due_at")
    # One row per newsletter: PostgreSQL turns EXISTS into a join over all due rows.
    return rows.annotate(one_due=Subquery(due.values("pk")[:1])).filter(one_due__isnull=False)


_DUE = AnyRows(lambda now: (due_series(now),))


def send_series(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Queue emails for whom they are due, within the budget. Return how many."""
    left, queued = TimeBudget(budget), 0
    if not _DUE.at(clock()):
        return 0
    for newsletter in list(due_series(clock()).order_by("pk")):
        try:
            refresh_posts(newsletter, now=clock())
            while not left.is_spent and (looked_at := _send_batch(newsletter, clock())) is not None:
                queued += looked_at
        except Exception:
            log.exception("a series failed", extra={"newsletter": newsletter.pk})
            _put_off(newsletter, clock())
    return queued


def _put_off(newsletter: Subscribable, now: datetime) -> None:
    due = SeriesRun.objects.filter(newsletter=newsletter, due_at__lte=now).order_by("due_at", "pk")
    keys = list(due.values_list("pk", flat=True)[:RUNS_A_BATCH])
    SeriesRun.objects.filter(pk__in=keys).update(due_at=now + AFTER_ERROR)


@transaction.atomic
def _send_batch(newsletter: Subscribable, now: datetime) -> int | None:
    """Decide about the next runs. Return how many emails were queued, None without any run."""
    rows = SeriesRun.objects.filter(newsletter=newsletter, due_at__lte=now)
    rows = rows.select_related("subscription__destination").order_by("due_at", "pk")
    runs = list(rows.select_for_update(skip_locked=True, of=("self",), no_key=True)[:RUNS_A_BATCH])
    if not runs:
        return None
    restore = Restore.objects.filter(released_at=None).order_by("begun_at").first()
    letters = {letter.pk: letter for letter in _switched_on(newsletter)}
    steps = [_step(letter) for letter in letters.values()]
    wanted: dict[int, list[tuple[SeriesRun, RunFacts]]] = defaultdict(list)
    for run, facts, missed in _facts_of(newsletter, runs, steps, now):
        if restore is not None:
            # All that may have been sent since the backup is queued, and claims hold it for a person.
            decision = decide_restored(facts, steps, restore.begun_at, now)
        else:
            decision = decide(facts, steps, now)
        run.due_at = decision.at
        if decision.act is Act.SEND and decision.step is not None:
            wanted[decision.step.key].append((run, facts))
        elif decision.act is Act.REPEAT and missed is not None and not _repeat(missed, now):
            run.due_at = now + LOOK_AGAIN
        elif decision.act is Act.END:
            run.ended_at = now
    queued = sum(
        _queue(letters[key], each, steps, now, is_restoring=restore is not None)
        for key, each in wanted.items()
    )
    update_rows(runs, ["sent", "last_at", "due_at", "ended_at"])
    return queued


def _switched_on(newsletter: Subscribable) -> "QuerySet[Broadcast]":
    there = emails_of(newsletter).filter(issue__isnull=False)
    return there.filter(issue__cancelled_at=None, issue__pruned_at=None)


def _step(letter: Broadcast) -> Step:
    is_paused = letter.issue is not None and letter.issue.paused_at is not None
    return Step(letter.pk, letter.series_days, is_paused, letter.post_item_id or 0)


def _facts_of(
    newsletter: Subscribable, runs: Sequence[SeriesRun], steps: Sequence[Step], now: datetime
) -> Iterable[tuple[SeriesRun, RunFacts, Delivery | None]]:
    """Return each run with its facts and its last delivery. A handful of queries."""
    people = {run.subscription.destination_id for run in runs}
    cores = {run.subscription.destination.core for run in runs}
    suppressed = set(Suppression.objects.filter(core__in=cores).values_list("kind", "core"))
    issues = dict(
        Broadcast.objects.filter(pk__in={key for run in runs for key in run.sent}).values_list("pk", "issue")
    )
    latest = {issues.get(run.sent[-1]) for run in runs if run.sent}
    rows = Delivery.objects.filter(destination__in=people, issue__in=issues.values()).select_related("issue")
    # After a restore several may have been cancelled.
    rows = rows.filter(Q(issue__in=latest - {None}) | Q(state=Delivery.State.CANCELLED))
    there = {(row.issue_id, row.destination_id): row for row in rows.defer("issue__html", "issue__text")}
    had = _had(people, {step.item for step in steps if step.item})
    for run in runs:
        row, to = run.subscription, run.subscription.destination
        mine = [there.get((issues.get(key), to.pk)) for key in run.sent]
        missed = (each for each in mine if each is not None and _last(each, True) is Last.MISSED)
        before = next(missed, mine[-1] if mine else None)
        sent_at = before.sent_at if before is not None else None
        yield (
            run,
            RunFacts(
                since=sent_at or run.last_at or run.begun_at,
                sent=run.sent,
                had=had.get(to.pk, ()),
                last=_last(before, bool(run.sent)),
                zone=ZoneInfo(run.time_zone) if run.time_zone else newsletter.zone,
                at=newsletter.series_time,
                is_confirmed=row.status == Subscription.Status.CONFIRMED and row.ended_at is None,
                is_blocked=to.disabled_at is not None or (to.kind, to.core) in suppressed,
                paused_until=row.paused_until,
                back_by=row.undo_until,
            ),
            before,
        )


def _last(before: Delivery | None, any_sent: bool) -> Last:
    if before is None:
        # Perhaps to an earlier address.
        return Last.OVER if any_sent else Last.NONE
    if before.state in NOT_FINISHED:
        return Last.GOING
    is_dropped = before.issue is None or before.issue.cancelled_at is not None or before.last_error == BY_HAND
    return Last.MISSED if before.state == Delivery.State.CANCELLED and not is_dropped else Last.OVER


def _had(people: Collection[int], items: Collection[int]) -> Mapping[int, set[int]]:
    """Return which of these posts each person has, from an issue."""
    found: dict[int, set[int]] = defaultdict(set)
    if items:
        rows = Delivery.objects.filter(destination__in=people, issue__issue_items__item__in=items)
        rows = rows.exclude(state=Delivery.State.CANCELLED).order_by()
        for to, item in rows.values_list("destination", "issue__issue_items__item"):
            found[to].add(item)
    return found


def _repeat(missed: Delivery, now: datetime) -> bool:
    try:
        retry_delivery(delivery=missed, now=now)
    except NotRetryable as error:
        log.info("an email of a series stays cancelled: %s", error, extra={"delivery": missed.pk})
        return False
    return True


def _queue(
    letter: Broadcast,
    wanted: Sequence[tuple[SeriesRun, RunFacts]],
    steps: Sequence[Step],
    now: datetime,
    *,
    is_restoring: bool,
) -> int:
    """Queue an email for these runs, and set when to look at each again."""
    issue = letter.issue
    assert issue is not None  # noqa: S101 - it is switched on
    # An edit locks it, too, so that the version is the newest.
    issue.version = locked_issue(issue.pk).version
    issue.subscribable = letter.subscribable
    mine = Delivery.objects.filter(issue=issue)
    theirs = mine.filter(destination=OuterRef("destination"))
    keys = [run.subscription_id for run, _ in wanted]
    recipients = Subscription.objects.filter(~Exists(theirs), pk__in=keys)
    queued = queue(issue=issue, recipients=recipients, now=now, key=SERIES_KEY)
    people = [run.subscription.destination_id for run, _ in wanted]
    there = set(mine.filter(destination__in=people).values_list("destination", flat=True))
    for run, facts in wanted:
        if run.subscription.destination_id not in there:
            run.due_at = now + SOON
            continue
        run.last_at = due_at(_step(letter), facts) if is_restoring else now
        run.sent = [*run.sent, letter.pk]
        after = replace(facts, sent=run.sent, since=run.last_at)
        step = next_step(steps, after)
        # After the last one, look whether it has arrived.
        run.due_at = due_at(step, after) if step else now + LOOK_AGAIN
    return queued


@transaction.atomic
def begin_for(*, subscription: Subscription, now: datetime) -> None:
    """Begin the series for a subscriber who is here already. Raises CannotAct."""
    newsletter = subscription.subscribable
    if newsletter.welcome != Subscribable.Welcome.SERIES:
        raise CannotAct(f"“{newsletter}” has no series for new subscribers. Switch it on first.")
    rows = Subscription.objects.confirmed().select_for_update(no_key=True).filter(pk=subscription.pk)
    if (locked := rows.first()) is None or locked.is_beside:
        raise CannotAct("Only somebody who gets the newsletter by email can begin the series.")
    begin_series([locked], now=now)
