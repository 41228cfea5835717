"""The status of each stage: when it ran last, and how long its oldest piece of work has been waiting.

It asks the database's rows alone, so that it still tells the truth when nothing runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Min
from django_celery_beat.models import PeriodicTask

from common.admin.html import ago
from delivery.models import Delivery, WebhookCall
from delivery.work import collections_over, to_call
from feedletter_site.models import Stage
from feedletter_site.ticks.schedule import STAGES
from feeds.work import to_poll
from subscriptions.work import to_assign, to_take_over

# A stage that has not run for three intervals and this long is not run at all.
SLACK = timedelta(minutes=2)
# Work that has been due for longer, nobody does.
USUAL_LONGEST_WAIT = timedelta(minutes=10)
# A collection waits for feeds that cannot be read: its newsletter's grace, usually an hour.
LONGER_WAITS = {"delivery.complete": timedelta(minutes=90)}


@dataclass(frozen=True, slots=True)
class StageStatus:
    """One stage. `ran`, `ticked` and `oldest` are ages; `oldest` is zero when nothing is due."""

    stage: str
    watched: bool
    interval: timedelta
    ran: timedelta
    has_run: bool
    ticked: timedelta | None
    oldest: timedelta

    @property
    def trouble(self) -> str:
        """A sentence when it does not run, or is behind."""
        if not self.watched:
            return ""
        if self.ran > 3 * self.interval + SLACK:
            return f"{self.stage} has not run for {ago(self.ran)}."
        if self.oldest > LONGER_WAITS.get(self.stage, USUAL_LONGEST_WAIT):
            return f"{self.stage} is {ago(self.oldest)} behind."
        return ""


def stage_statuses(now: datetime) -> list[StageStatus]:
    """Every stage, in the order in which a post passes them."""
    rows = {row.name: row for row in Stage.objects.all()}
    tasks = {row.name: row for row in PeriodicTask.objects.filter(name__in=STAGES).select_related("interval")}
    found = []
    for name in STAGES:
        row, task = rows.get(name), tasks.get(name)
        # With a crontab of the admin's own there is no interval, and nobody knows when it should run.
        interval = task.interval.schedule.run_every if task and task.interval else None
        status = StageStatus(
            stage=name,
            watched=bool(task and task.enabled and interval),
            interval=interval or timedelta(0),
            ran=_age((row.ran_at or row.since) if row else now, now),
            has_run=bool(row and row.ran_at),
            ticked=_age(row.ticked_at, now) if row and row.ticked_at else None,
            oldest=_age(OLDEST[name](now), now) if name in OLDEST else timedelta(0),
        )
        found.append(status)
    return found


def _age(moment: datetime | None, now: datetime) -> timedelta:
    return max(now - moment, timedelta(0)) if moment else timedelta(0)


def _oldest_feed(now: datetime) -> datetime | None:
    (due,) = to_poll(now)
    return due.order_by("next_poll_at").values_list("next_poll_at", flat=True).first()


def _oldest_post(now: datetime) -> datetime | None:
    (final,) = to_assign(now)
    return final.order_by("final_at").values_list("final_at", flat=True).first()


def _oldest_list(now: datetime) -> datetime | None:
    (lists,) = to_take_over(now)
    return lists.order_by("created_at").values_list("created_at", flat=True).first()


def _oldest_collection(now: datetime) -> datetime | None:
    """Since its period's end, or since it was full."""
    over = collections_over(now)
    ended = over.filter(period_end__isnull=False).aggregate(oldest=Min("period_end"))["oldest"]
    full = over.filter(period_end=None).annotate(full_at=Max("assignments__assigned_at"))
    times = [ended, *full.order_by("full_at").values_list("full_at", flat=True)[:1]]
    return min((moment for moment in times if moment), default=None)


def _oldest_letter(now: datetime) -> datetime | None:
    """Of lanes that are not paused: those are a person's affair."""
    due = Delivery.objects.due(now).filter(lane__paused=False)
    moment: datetime | None = due.order_by().aggregate(oldest=Min("due_at"))["oldest"]
    return moment


def _oldest_lease(now: datetime) -> datetime | None:
    expired = Delivery.objects.expired(now).order_by("lease_until")
    return expired.values_list("lease_until", flat=True).first()


def _oldest_call(now: datetime) -> datetime | None:
    (webhooks,) = to_call(now)
    calls = WebhookCall.objects.filter(webhook__in=webhooks, state="queued", due_at__lte=now)
    moment: datetime | None = calls.order_by().aggregate(oldest=Min("due_at"))["oldest"]
    return moment


OLDEST: Mapping[str, Callable[[datetime], datetime | None]] = {
    "feeds.poll": _oldest_feed,
    "subscriptions.assign": _oldest_post,
    "subscriptions.lists": _oldest_list,
    "delivery.complete": _oldest_collection,
    "delivery.send": _oldest_letter,
    "delivery.reap": _oldest_lease,
    "delivery.webhooks": _oldest_call,
}
