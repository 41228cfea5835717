"""Publishes an issue: one Delivery for each confirmed subscription, by one INSERT … SELECT, exactly once.

A newsletter that offers notifications goes to devices, too, by another such statement: their lane is another.

Whoever confirms after that is a late subscriber, and may be sent the issue, too.
"""

import logging
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, QuerySet, Value

from channels.rules.corrections import WINDOW, wishes
from common.counters import count
from common.db.bulk import vacuum_analyze
from common.passes import TimeBudget
from common.ports import channels
from common.ports.events import Event, EventKind, emit
from common.ports.panels import CannotAct
from delivery.issues.audience import WaitsForPerson, each_once, subscribers_of
from delivery.issues.frequency_switches import not_switching
from delivery.issues.pause import locked_issue
from delivery.lanes.lanes import domain_expression, lane_expression
from delivery.models import Delivery, Issue
from delivery.models.delivery import NOT_FINISHED
from feeds.items.tracked import track
from subscriptions.models import Subscribable, Subscription
from subscriptions.subscribers.devices import WEBPUSH

log = logging.getLogger(__name__)
FINISHED_TOGETHER = 500
# The key of late subscribers' deliveries: on the issue's page they are counted by themselves.
LATE_KEY = "late"
# A confirmation that was not committed yet when the issue was published is late, too.
COMMITTED_WITHIN = timedelta(minutes=1)


@transaction.atomic
def publish(*, issue_id: int, now: datetime) -> int:
    """Queues the issue for everyone who is confirmed now. Returns how many; 0 when published or discarded."""
    drafts = Issue.objects.filter(pk=issue_id, published_at=None, cancelled_at=None)
    if not drafts.update(published_at=now):
        return 0
    issue = Issue.objects.select_related("subscribable").defer("html", "text").get(pk=issue_id)
    return queue_for_all(issue=issue, now=now)


def queue_for_all(*, issue: Issue, now: datetime) -> int:
    """Queues an issue that the caller's transaction publishes, and tells of it. Returns how many."""
    queued = queue(issue=issue, recipients=_recipients(issue, lock=True), now=now)
    if queued and wishes(issue.subscribable.options, issue.subscribable.arrangement):
        texts = issue.issue_items.filter(item__isnull=False).values_list("item_id", "content_hash")
        track(dict(texts), until=now + WINDOW)
    _tell(issue, queued, now)
    return queued


@transaction.atomic
def archive_only(*, issue_id: int, now: datetime) -> None:
    """Publishes an issue that waited for a reader in vain: it stands in the archive, and goes to nobody."""
    waiting = Issue.objects.filter(pk=issue_id, awaits_reader=True, published_at=None, cancelled_at=None)
    if waiting.update(published_at=now):
        _tell(Issue.objects.select_related("subscribable").defer("html", "text").get(pk=issue_id), 0, now)


def _tell(issue: Issue, queued: int, now: datetime) -> None:
    """Tells webhooks, and the log once it is committed."""
    emit(Event(EventKind.PUBLISHED, (issue.pk,), now, {"recipients": queued}))

    def note_published() -> None:
        about = {"issue": issue.pk, "recipients": queued}
        name = issue.subscribable.name
        log.info("an issue of %s was published for %d: %s", name, queued, issue.title, extra=about)
        count("issues", issue.subscribable.channel)
        vacuum_analyze(Delivery, rows=queued)

    transaction.on_commit(note_published)


def to_finish() -> "QuerySet[Issue]":
    """Published issues of which nothing is left to send, and that nobody was told of."""
    left = Delivery.objects.filter(issue=OuterRef("pk"), state__in=NOT_FINISHED)
    return Issue.objects.filter(~Exists(left), published_at__isnull=False, finished_at=None)


def finish_issues(*, now: datetime, budget: timedelta | None = None) -> int:
    """Tell of issues whose last letter has ended. Returns how many."""
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
    """One queued delivery for each, by one statement for each channel, within the caller's transaction.
    Returns how many."""
    return sum(_queue_by(kind, issue, recipients, now=now, key=key) for kind in _kinds(issue.subscribable))


def _kinds(newsletter: Subscribable) -> tuple[str, ...]:
    """The channels that it goes out by."""
    return (newsletter.channel, WEBPUSH) if newsletter.offers_devices else (newsletter.channel,)


def _queue_by(
    kind: str, issue: Issue, recipients: "QuerySet[Subscription]", *, now: datetime, key: str
) -> int:
    """Those of one channel."""
    recipients = recipients.filter(destination__kind=kind)
    values = {
        "kind": Value(Delivery.Kind.ISSUE.value),
        "issue_id": Value(issue.pk),
        "key": Value(key),
        "template": Value(""),
        "context": Value("{}"),
        "lane_id": lane_expression(kind=kind, recipients=recipients, options=issue.subscribable.options),
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
    # A subscription confirmed this very moment may have no lane yet: it comes too late for this issue.
    rows = recipients.order_by("pk").annotate(**aliased).filter(**{"new_lane_id__isnull": False})
    select, params = rows.values_list("destination_id", "pk", "language", *aliased).query.sql_with_params()
    columns = ["destination_id", "subscription_id", "language", *values]
    quoted = ", ".join(connection.ops.quote_name(column) for column in columns)
    table = connection.ops.quote_name(Delivery._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({quoted}) {select}", params)
        return int(cursor.rowcount)


def _recipients(issue: Issue, *, lock: bool = False) -> "QuerySet[Subscription]":
    """Each person once. With `lock` in a transaction that publishes. Raises as `subscribers_of`."""
    # (Who switches from one of its newsletters to another gets it by the one that they get now.)
    rows = subscribers_of(issue, lock=lock).filter(destination__kind__in=_kinds(issue.subscribable))
    # Nobody changes from one bridge to another.
    if channels.get(issue.subscribable.channel).public_sign_up:
        rows = not_switching(issue, rows)
    return each_once(issue, rows)


def late_subscribers(issue: Issue) -> "QuerySet[Subscription]":
    """Who would get the issue if it were sent to late subscribers now."""
    try:
        return _late(issue, _recipients(issue))
    except WaitsForPerson:
        # A tag that it names was deleted: nobody can be told to have it any more.
        return Subscription.objects.none()


def _late(issue: Issue, recipients: "QuerySet[Subscription]") -> "QuerySet[Subscription]":
    if issue.published_at is None:
        return recipients.none()
    theirs = Delivery.objects.filter(issue=issue.pk, destination=OuterRef("destination"))
    return recipients.filter(~Exists(theirs), confirmed_at__gt=issue.published_at - COMMITTED_WITHIN)


@transaction.atomic
def send_late(*, issue_id: int, now: datetime) -> int:
    """Queues the issue for its late subscribers, each once. Returns how many. Raises CannotAct."""
    # Two at once: the second waits here, and then sees what the first inserted.
    issue = locked_issue(issue_id)
    if issue.published_at is None:
        raise CannotAct(f"“{issue}” has not gone out: there are no late subscribers yet.")
    if issue.cancelled_at is not None:
        raise CannotAct(f"“{issue}” was cancelled: it goes to nobody any more.")
    if issue.pruned_at is not None:
        raise CannotAct(f"The letter of “{issue}” was forgotten after KEEP_DAYS: it cannot be sent again.")
    return queue(issue=issue, recipients=_late(issue, _recipients(issue, lock=True)), now=now, key=LATE_KEY)
