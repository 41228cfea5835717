"""Publishing: one Delivery for each confirmed subscription, by one INSERT … SELECT, exactly once."""

from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet, Value

from common.events import Event, Kind, emit
from delivery.models import Delivery, Issue
from delivery.services.claiming import ISSUE_PRIORITY
from delivery.services.lanes import domain_expression, lane_expression
from delivery.services.switches import not_switching
from subscriptions.models import Destination, Subscribable, Subscription


@transaction.atomic
def publish(*, issue_id: int, now: datetime) -> int:
    """Queues the issue for everyone who is confirmed now. Returns how many; 0 when published or discarded."""
    drafts = Issue.objects.filter(pk=issue_id, published_at=None, cancelled_at=None)
    if not drafts.update(published_at=now):
        return 0
    issue = Issue.objects.select_related("subscribable").defer("html", "text").get(pk=issue_id)
    recipients = not_switching(issue, recipients_of(issue.subscribable))
    queued = queue(issue=issue, recipients=recipients, now=now)
    emit(Event(Kind.PUBLISHED, (issue.pk,), now, {"recipients": queued}))
    return queued


def recipients_of(subscribable: Subscribable) -> "QuerySet[Subscription]":
    """Who would get an issue that is published now."""
    return Subscription.objects.reachable().filter(subscribable=subscribable)


def queue(*, issue: Issue, recipients: "QuerySet[Subscription]", now: datetime, key: str = "") -> int:
    """One queued delivery for each, by one statement, within the caller's transaction. Returns how many."""
    return _insert_select(_rows(issue, recipients, now, key))


def _rows(
    issue: Issue, recipients: "QuerySet[Subscription]", now: datetime, key: str
) -> "QuerySet[Subscription, tuple[object, ...]]":
    kind = issue.subscribable.channel
    destinations = Destination.objects.filter(subscriptions__in=recipients)
    values = {
        "kind": Value(Delivery.Kind.ISSUE.value),
        "issue_id": Value(issue.pk),
        "key": Value(key),
        "template": Value(""),
        "context": Value("{}"),
        "lane_id": lane_expression(kind=kind, destinations=destinations, options=issue.subscribable.options),
        "domain": domain_expression(kind),
        "priority": Value(ISSUE_PRIORITY),
        "state": Value(Delivery.State.QUEUED.value),
        "held_for": Value(""),
        "created_at": Value(now),
        "due_at": Value(now),
        "attempts": Value(0),
        "remote_id": Value(""),
        "last_error": Value(""),
    }
    aliased = {f"new_{name}": value for name, value in values.items()}
    return (
        recipients.order_by("pk")
        .annotate(**aliased)
        # A subscription confirmed this very moment may have no lane yet: it comes too late for this issue.
        .filter(**{"new_lane_id__isnull": False})
        .values_list("destination_id", "pk", "language", *aliased)
    )


def _insert_select(rows: "QuerySet[Subscription, tuple[object, ...]]") -> int:
    annotations = [name.removeprefix("new_") for name in rows.query.annotation_select]
    columns = ["destination_id", "subscription_id", "language", *annotations]
    select, params = rows.query.sql_with_params()
    quoted = ", ".join(connection.ops.quote_name(column) for column in columns)
    table = connection.ops.quote_name(Delivery._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({quoted}) {select}", params)
        return int(cursor.rowcount)
