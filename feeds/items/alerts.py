"""Feeds that admins must be alerted to."""

from collections.abc import Iterable
from datetime import datetime
from http import HTTPStatus
from typing import assert_never

from django.db.models import F, OuterRef, Q, Subquery

from common.ports.events import Event, EventKind, emit
from common.ports.registries import told_to_others
from feeds.models import Feed, Poll
from feeds.models.feed import FeedQuerySet
from feeds.rules.alerts import A_DAY, ALONG, What, due, is_nearly_due


def is_any_wanting(now: datetime) -> bool:
    """Cheap check, run every minute."""
    return _candidates(now).exists()


def wanting(now: datetime) -> dict[What, list[Feed]]:
    """Lock the feeds of each alert. Needs a transaction.

    Feeds that are being recorded are skipped until next time.
    """
    rows = list(_candidates(now).order_by("pk").select_for_update(skip_locked=True, of=("self",)))
    feeds: dict[What, list[Feed]] = {}
    for feed in rows:
        if what := due(feed, now, is_gone=getattr(feed, "last_answer", None) == HTTPStatus.GONE):
            feeds.setdefault(what, []).append(feed)
    if "failing" in feeds:
        # Feeds that fail together get one mail.
        feeds["failing"] = [feed for feed in rows if is_nearly_due(feed, now)]
    return feeds


def mark_alerted(*, feeds: Iterable[Feed], what: What, now: datetime) -> int:
    """Emit the event, too, in the caller's transaction. Returns how many."""
    keys = tuple(sorted(feed.pk for feed in feeds))
    kind = EventKind.RECOVERED if what == "recovered" else EventKind.FAILING
    emit(Event(kind, keys, now, {"gone": what == "gone"} if kind is EventKind.FAILING else {}))
    rows = Feed.objects.filter(pk__in=keys)
    match what:
        case "failing":
            return rows.filter(alerted_at=None, failures__gt=0).update(alerted_at=now)
        case "gone":
            return rows.filter(status=Feed.Status.STOPPED).update(alerted_at=now)
        case "recovered":
            return rows.filter(alerted_at__isnull=False, failures=0).update(alerted_at=None)
    assert_never(what)


def how_many_fail() -> tuple[int, int]:
    """Return failing and watched feeds."""
    watched = Feed.objects.watched()
    return watched.filter(failures__gt=0).count(), watched.count()


def _candidates(now: datetime) -> FeedQuerySet:
    """Return a superset of the feeds that are due."""
    failing = Q(status="active", failures__gt=0, failing_since__lte=now - (A_DAY - ALONG), alerted_at=None)
    stopped = Q(status="stopped", failures__gt=0, dropping=False)
    untold = Q(alerted_at=None) | Q(alerted_at__lt=F("last_polled_at"))
    recovered = Q(status="active", failures=0, fetched_through__gt=F("alerted_at"))
    # Feeds are also stopped by hand, so the last answer counts.
    last = Poll.objects.filter(feed=OuterRef("pk")).order_by("-at", "-pk").values("status")[:1]
    rows = Feed.objects.annotate(last_answer=Subquery(last))
    rows = rows.filter(failing | (stopped & untold & Q(last_answer=HTTPStatus.GONE)) | recovered)
    for theirs in told_to_others:
        rows = rows.exclude(pk__in=theirs())
    return rows
