"""Publish an issue once: a Delivery per confirmed subscription, by one INSERT … SELECT.

Devices take a second statement, as they have another lane. Readers who confirm later can be sent the issue as
late subscribers.

A draft waits for approval or a release time. A newsletter's first issue waits for its first reader: only the
newest, until a newer one or 30 days send it to the archive, so that the first reader gets one letter.
"""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value

from channels.rules.corrections import WINDOW
from common.clock import utcnow
from common.counters import count
from common.db.bulk import vacuum_analyze
from common.passes import TimeBudget
from common.ports import channels
from common.ports.events import Event, EventKind, emit
from common.ports.panels import CannotAct
from delivery.issues.audience import WaitsForPerson, each_once, is_tracked, readers_of, subscribers_of
from delivery.issues.frequency_switches import cuts, not_switching
from delivery.issues.pause import locked_issue, refuse_old
from delivery.lanes.lanes import domain_expression, lane_expression
from delivery.models import Delivery, HubSubscriber, Issue, IssueItem
from delivery.models.delivery import NOT_FINISHED
from delivery.models.issue import LETTER_GUID
from feeds.items.alerts import track
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import SeriesRun, Subscribable, Subscription
from subscriptions.subscribers.devices import WEBPUSH

log = logging.getLogger(__name__)
FINISHED_TOGETHER = 500
# Marks late subscribers' deliveries, which the issue's page counts separately.
LATE_KEY = "late"
# A confirmation not yet committed at publishing is late, too.
COMMITTED_WITHIN = timedelta(minutes=1)
LATEST_RELEASE = timedelta(days=366)
WAITS_AT_MOST = timedelta(days=30)


@transaction.atomic
def publish(*, issue_id: int, now: datetime) -> int:
    """Queue the issue for confirmed readers. Return how many; 0 if published or discarded."""
    drafts = Issue.objects.filter(pk=issue_id, published_at=None, cancelled_at=None)
    if not drafts.update(published_at=now):
        return 0
    issue = Issue.objects.select_related("subscribable").defer("html", "text").get(pk=issue_id)
    return queue_for_all([issue], now=now)


def queue_for_all(issues: Sequence[Issue], *, now: datetime) -> int:
    """Queue issues that the caller's transaction publishes. Return how many letters."""
    apart, alike = _by_recipients(issues)
    for kind, together in alike:
        recipients = Subscription.objects.reachable().filter(subscribable__issues__in=together)
        recipients = recipients.order_by("subscribable__issues__pk", "pk")
        options = together[0].subscribable.options
        _queue_by(kind, F("subscribable__issues"), recipients, options=options, now=now)
    letters = Delivery.objects.filter(issue__in=issues).order_by().values_list("issue")
    queued = Counter(dict(letters.annotate(Count("pk"))) if alike else {})
    for issue in apart:
        queued[issue.pk] = queue(issue=issue, recipients=_recipients(issue, lock=True), now=now)
    tracked = [issue.pk for issue in issues if queued[issue.pk] and is_tracked(issue.subscribable)]
    if tracked:
        texts = IssueItem.objects.filter(issue__in=tracked, item__isnull=False).order_by()
        track(dict(texts.values_list("item_id", "content_hash")), until=now + WINDOW)
    HubSubscriber.objects.owe((issue.subscribable_id for issue in issues), now)
    for issue in issues:
        _tell(issue, queued[issue.pk], now)
    return queued.total()


def _by_recipients(issues: Sequence[Issue]) -> tuple[list[Issue], list[tuple[str, list[Issue]]]]:
    """Return issues to be queued apart, and the others by the kind and lane of their letters."""
    if len(issues) < 2:
        return list(issues), []
    keys = [issue.subscribable_id for issue in issues]
    switching = cuts(Q(old__subscribable__in=keys) | Q(new__subscribable__in=keys))
    switched = {key for cut in switching for key in (cut.old, cut.new)}
    apart, alike = list[Issue](), defaultdict[tuple[str, str], list[Issue]](list)
    for issue in issues:
        if issue.audience or issue.subscribable_id in switched or issue.subscribable.has_series_first:
            apart.append(issue)
            continue
        for kind in _kinds(issue.subscribable):
            alike[kind, json.dumps(issue.subscribable.options, sort_keys=True)].append(issue)
    return apart, [(kind, rows) for (kind, _), rows in sorted(alike.items())]


@transaction.atomic
def archive_only(*, issue_id: int, now: datetime) -> None:
    """Archive an issue that waited for a reader in vain."""
    waiting = Issue.objects.filter(pk=issue_id, awaits_reader=True, published_at=None, cancelled_at=None)
    if waiting.update(published_at=now):
        HubSubscriber.objects.owe(
            Subscribable.objects.filter(issues=issue_id).values_list("pk", flat=True), now
        )
        _tell(Issue.objects.select_related("subscribable").defer("html", "text").get(pk=issue_id), 0, now)


def _tell(issue: Issue, queued: int, now: datetime) -> None:
    of_reader = {"reader_channel": key} if (key := issue.subscribable.reader_channel) else {}
    emit(Event(EventKind.PUBLISHED, (issue.pk,), now, {"recipients": queued, **of_reader}))

    def note_published() -> None:
        about = {"issue": issue.pk, "recipients": queued}
        name = issue.subscribable.name
        log.info("an issue of %s was published for %d: %s", name, queued, issue.title, extra=about)
        count("issues", issue.subscribable.channel)
        vacuum_analyze(Delivery, rows=queued)

    transaction.on_commit(note_published)


def to_finish() -> "QuerySet[Issue]":
    """Return completely sent issues without a FINISHED event."""
    left = Delivery.objects.filter(issue=OuterRef("pk"), state__in=NOT_FINISHED)
    return Issue.objects.filter(~Exists(left), published_at__isnull=False, finished_at=None)


def finish_issues(*, now: datetime, budget: timedelta | None = None) -> int:
    """Emit FINISHED events. Return how many."""
    time_left, done = TimeBudget(budget), 0
    for pk in list(to_finish().order_by("pk").values_list("pk", flat=True)[:FINISHED_TOGETHER]):
        if time_left.is_spent:
            break
        with transaction.atomic():
            if to_finish().filter(pk=pk).update(finished_at=now):
                states = Delivery.objects.filter(issue=pk).order_by().values_list("state")
                counts = dict(states.annotate(Count("pk")))
                emit(Event(EventKind.FINISHED, (pk,), now, counts))
                done += 1
    return done


def queue(*, issue: Issue, recipients: "QuerySet[Subscription]", now: datetime, key: str = "") -> int:
    """Queue a delivery per recipient, in the caller's transaction. Return how many."""
    return sum(
        _queue_by(
            kind,
            Value(issue.pk),
            recipients.order_by("pk"),
            options=issue.subscribable.options,
            now=now,
            key=key,
            version=issue.version,
        )
        for kind in _kinds(issue.subscribable)
    )


def _kinds(newsletter: Subscribable) -> tuple[str, ...]:
    devices = (WEBPUSH,) if newsletter.offers_devices else ()
    # Companions publish, so they carry only what is public.
    companions = newsletter.companions if newsletter.visibility == "public" else ""
    return (newsletter.channel, *devices, *companions.split())


def _queue_by(
    kind: str,
    issue: Value | F,
    recipients: "QuerySet[Subscription]",
    *,
    options: Mapping[str, str],
    now: datetime,
    key: str = "",
    version: int = 0,
) -> int:
    recipients = recipients.filter(destination__kind=kind)
    values = {
        "kind": Value(Delivery.Kind.ISSUE.value),
        "issue_id": issue,
        "key": Value(key),
        "template": Value(""),
        "context": Value("{}"),
        "version": Value(version),
        "lane_id": lane_expression(kind=kind, recipients=recipients, options=options),
        "domain": domain_expression(kind),
        "priority": Value(Delivery.Priority.ISSUE),
        "state": Value(Delivery.State.QUEUED.value),
        "held_for": Value(""),
        "created_at": Value(now),
        "due_at": Value(now),
        "attempts": Value(0),
        "remote_id": Value(""),
        "last_error": Value(""),
    }
    aliased = {f"new_{name}": value for name, value in values.items()}
    # A subscription confirmed this moment may have no lane: it is late.
    rows = recipients.annotate(**aliased).filter(**{"new_lane_id__isnull": False})
    select, params = rows.values_list("destination_id", "pk", "language", *aliased).query.sql_with_params()
    columns = ["destination_id", "subscription_id", "language", *values]
    quoted = ", ".join(connection.ops.quote_name(column) for column in columns)
    table = connection.ops.quote_name(Delivery._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({quoted}) {select}", params)
        return int(cursor.rowcount)


def _recipients(issue: Issue, *, lock: bool = False) -> "QuerySet[Subscription]":
    """Return one subscription per person. `lock` for publishing. Raises like `subscribers_of`."""
    # (Who switches between its newsletters gets it by the current one.)
    rows = subscribers_of(issue, lock=lock).filter(destination__kind__in=_kinds(issue.subscribable))
    if not issue.has_page:
        rows = rows.exclude(destination__kind__in=issue.subscribable.companions.split())
    # Nobody switches between bridges.
    if channels.get(issue.subscribable.channel).public_sign_up:
        rows = not_switching(issue, rows)
    return each_once(issue, without_series(issue, rows))


def without_series(issue: Issue, rows: "QuerySet[Subscription]") -> "QuerySet[Subscription]":
    """Exclude who gets the newsletter's series first."""
    newsletter = issue.subscribable
    # An editor's email is for everybody.
    if not newsletter.has_series_first or issue.within_type_id.startswith(LETTER_GUID):
        return rows
    under_way = SeriesRun.objects.filter(newsletter=newsletter, ended_at=None, subscription=OuterRef("pk"))
    return rows.filter(~Exists(under_way))


def late_subscribers(issue: Issue) -> "QuerySet[Subscription]":
    try:
        return _late(issue, _recipients(issue))
    except WaitsForPerson:
        # A deleted tag: recipients are unknown.
        return Subscription.objects.none()


def _late(issue: Issue, recipients: "QuerySet[Subscription]") -> "QuerySet[Subscription]":
    if issue.published_at is None or issue.issue_import_id is not None:
        return recipients.none()
    theirs = Delivery.objects.filter(issue=issue.pk, destination=OuterRef("destination"))
    # Who follows elsewhere begins with the next issue.
    recipients = recipients.exclude(destination__kind__in=issue.subscribable.companions.split())
    return recipients.filter(~Exists(theirs), confirmed_at__gt=issue.published_at - COMMITTED_WITHIN)


@transaction.atomic
def send_late(*, issue_id: int, now: datetime) -> int:
    """Queue the issue for late subscribers, each once. Return how many. Raises CannotAct."""
    # A concurrent call waits here, then sees the first one's rows.
    issue = locked_issue(issue_id)
    refuse_old(issue)
    if issue.published_at is None:
        raise CannotAct(f"“{issue}” wasn’t sent yet, so there are no late subscribers.")
    if issue.cancelled_at is not None:
        raise CannotAct(f"“{issue}” was cancelled and can’t be sent.")
    if issue.pruned_at is not None:
        raise CannotAct(f"“{issue}” can’t be sent again. Its content was deleted after KEEP_DAYS.")
    return queue(issue=issue, recipients=_late(issue, _recipients(issue, lock=True)), now=now, key=LATE_KEY)


def drafts() -> "QuerySet[Issue]":
    """Return drafts without their letters, the next to be released first."""
    rows = Issue.objects.filter(published_at=None, cancelled_at=None, awaits_reader=False)
    rows = rows.defer("html", "text", "placeholders")
    return rows.order_by(F("release_at").asc(nulls_last=True), "created_at", "pk")


@transaction.atomic
def approve_issue(*, issue_id: int, now: datetime) -> int:
    """Publish a draft and return the number of queued letters. Raises CannotAct.

    The number is 0 while the issue waits for the newsletter's first reader.
    """
    lock_newsletter(issue_id)
    locked_draft(issue_id)
    return publish_to_readers(issue_id=issue_id, now=now)


@transaction.atomic
def release_at(*, issue_id: int, at: datetime, now: datetime) -> None:
    """Schedule a draft. Raises CannotAct."""
    issue = locked_draft(issue_id)
    if at <= now:
        raise CannotAct("That time has passed. Give a later one, or approve it now.")
    if at - now > LATEST_RELEASE:
        raise CannotAct("That is more than a year away. Give an earlier time.")
    Issue.objects.filter(pk=issue.pk, published_at=None).update(release_at=at)


@transaction.atomic
def stop_release(*, issue_id: int) -> None:
    issue = locked_draft(issue_id)
    Issue.objects.filter(pk=issue.pk, published_at=None).update(release_at=None)


@transaction.atomic
def discard_issue(*, issue_id: int, now: datetime) -> None:
    """Discard a draft; its posts still count as issued. Raises CannotAct."""
    issue = _unpublished(issue_id)
    Issue.objects.filter(pk=issue.pk, published_at=None).update(cancelled_at=now, release_at=None)


@transaction.atomic
def restore_issue(*, issue_id: int) -> None:
    """Restore a discarded draft, unscheduled. Raises CannotAct."""
    issue = locked_issue(issue_id)
    if issue.published_at is not None or issue.cancelled_at is None:
        raise CannotAct(f"“{issue}” was not discarded.")
    if issue.pruned_at is not None:
        raise CannotAct(f"“{issue}” can’t be sent any more. Its content was deleted after KEEP_DAYS.")
    Issue.objects.filter(pk=issue.pk, published_at=None).update(
        cancelled_at=None, release_at=None, awaits_reader=False
    )


def due_drafts(now: datetime) -> "QuerySet[Issue]":
    return drafts().filter(release_at__lte=now)


def release_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publish due drafts, within the budget. Return how many."""
    left = TimeBudget(budget)
    released = 0
    for pk in list(due_drafts(clock()).values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            released += _release(pk, clock())
        except Exception:
            log.exception("releasing failed", extra={"issue": pk})
    return released


@transaction.atomic
def _release(issue_id: int, now: datetime) -> bool:
    lock_newsletter(issue_id)
    Issue.objects.select_for_update(no_key=True).filter(pk=issue_id).values_list("pk").first()
    if not due_drafts(now).filter(pk=issue_id).exists():
        return False
    publish_to_readers(issue_id=issue_id, now=now)
    return True


def locked_draft(issue_id: int) -> Issue:
    """Return a locked draft. Raises CannotAct."""
    issue = _unpublished(issue_id)
    if issue.awaits_reader:
        raise CannotAct(f"“{issue}” is approved, and waits for the first subscriber.")
    return issue


def _unpublished(issue_id: int) -> Issue:
    issue = locked_issue(issue_id)
    if issue.published_at is not None:
        raise CannotAct(f"“{issue}” was already sent.")
    if issue.cancelled_at is not None:
        raise CannotAct(f"“{issue}” was discarded. Restore it first.")
    return issue


def waiting_for_a_reader() -> "QuerySet[Issue]":
    """Return the waiting issues without their letters, at most one per newsletter."""
    rows = Issue.objects.filter(awaits_reader=True, published_at=None, cancelled_at=None)
    return rows.defer("html", "text", "placeholders")


def over(now: datetime) -> "QuerySet[Issue]":
    """Return waiting issues that have a reader or waited too long."""
    readers = Subscription.objects.reachable().filter(subscribable=OuterRef("subscribable"))
    return waiting_for_a_reader().filter(Exists(readers) | Q(created_at__lte=now - WAITS_AT_MOST))


@transaction.atomic
def publish_to_readers(*, issue_id: int, now: datetime) -> int:
    """Publish a draft or let it wait for a reader. Return the number of queued letters.

    Lock order: newsletter, issue.
    """
    newsletter = lock_newsletter(issue_id)
    if newsletter is None or not newsletter.awaits_first_reader:
        return publish(issue_id=issue_id, now=now)
    draft = Issue.objects.filter(pk=issue_id, published_at=None, cancelled_at=None)
    has_reader = readers_of(newsletter.pk).exists()
    if not has_reader and not draft.update(awaits_reader=True, release_at=None):
        return 0
    for older in waiting_for_a_reader().filter(subscribable=newsletter).exclude(pk=issue_id):
        archive_only(issue_id=older.pk, now=now)
    return _publish_first(newsletter, issue_id, now) if has_reader else 0


def release_waiting(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publish or archive issues whose wait is over, within the budget. Return how many."""
    left, released = TimeBudget(budget), 0
    for pk in list(over(clock()).order_by("pk").values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            released += release_issue(issue_id=pk, now=clock())
        except Exception:
            log.exception("releasing failed", extra={"issue": pk})
    return released


@transaction.atomic
def release_issue(*, issue_id: int, now: datetime) -> bool:
    newsletter = lock_newsletter(issue_id)
    if newsletter is None or not over(now).filter(pk=issue_id).exists():
        return False
    if readers_of(newsletter.pk).exists():
        _publish_first(newsletter, issue_id, now)
    else:
        archive_only(issue_id=issue_id, now=now)
    return True


def lock_newsletter(issue_id: int) -> Subscribable | None:
    return next(iter(lock_for_membership(Subscribable.objects.filter(issues=issue_id))), None)


def _publish_first(newsletter: Subscribable, issue_id: int, now: datetime) -> int:
    Subscribable.objects.filter(pk=newsletter.pk).update(awaits_first_reader=False)
    Issue.objects.filter(pk=issue_id, published_at=None).update(awaits_reader=False)
    return publish(issue_id=issue_id, now=now)
