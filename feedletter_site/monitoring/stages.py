"""Status and work of stages from the database alone, so that it is right while nothing runs."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Max, Min, QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_celery_beat.models import PeriodicTask

from chat.work import to_answer
from common.admin.html import ago
from common.clock import utcnow
from common.db.prepared import AnyRows
from common.optional_apps import switched_on
from common.program import MANAGE
from delivery.models import Delivery, WebhookCall
from delivery.work import collections_over, to_call, to_complete, to_import, to_send
from fediverse.exchange import to_exchange
from feedletter_site.checks import unfit
from feedletter_site.migrate_from.take_over import to_take_in
from feedletter_site.models import Stage
from feedletter_site.ticks.schedule import STAGES
from feeds.work import to_fetch, to_poll, to_read
from reader.work import to_ask, to_check, to_compose, to_follow, to_place
from subscriptions.subscribers.antispam import undeclared_proxy
from subscriptions.work import to_assign, to_take_over

# Checking migrations takes 0.1 s, so success is remembered.
_migrated: set[str] = set()
# Bytes. SQLite's log needs space even to delete.
LEAST_FREE = 10_000_000
# Without its address, as anybody may read this.
UNDECLARED = "TRUSTED_PROXIES lacks a proxy: see the overview.\n"
# A stage is down after three intervals and this.
SLACK = timedelta(minutes=2)
# Work due for longer is not being done.
USUAL_LONGEST_WAIT = timedelta(minutes=10)
# A collection waits for unreadable feeds, by default an hour.
LONGER_WAITS = {"delivery.complete": timedelta(minutes=90)}
# Stages without a query always tick. A query must cover all work with which a pass begins.
EVERY_QUESTION: Mapping[str, Callable[[datetime], Sequence[QuerySet[Any]]]] = {
    "feeds.poll": to_poll,
    "feeds.pushes": to_read,
    "feeds.pages": to_fetch,
    "subscriptions.assign": to_assign,
    "subscriptions.lists": to_take_over,
    "delivery.complete": to_complete,
    "delivery.send": to_send,
    "delivery.webhooks": to_call,
    "delivery.old_issues": to_import,
    "fediverse.exchange": to_exchange,
    "chat.answer": to_answer,
    "feedletter_site.migrate_from": to_take_in,
    "reader.place": to_place,
    "reader.lists": to_follow,
    "reader.filters": to_ask,
    "reader.mentions": to_check,
    "reader.compose": to_compose,
}
QUESTIONS = switched_on(EVERY_QUESTION)
_HAVE_WORK = AnyRows(*QUESTIONS.values())


@dataclass(frozen=True, slots=True)
class StageStatus:
    """`ran`, `ticked` and `oldest` are ages; `oldest` is zero if nothing is due.

    `has_due_work`: the due time of its oldest work is known.
    """

    stage: str
    watched: bool
    interval: timedelta
    ran: timedelta
    has_run: bool
    ticked: timedelta | None
    oldest: timedelta
    has_due_work: bool

    @property
    def trouble(self) -> str:
        if not self.watched:
            return ""
        if self.ran > 3 * self.interval + SLACK:
            return f"{self.stage} has not run for {ago(self.ran)}."
        if self.oldest > LONGER_WAITS.get(self.stage, USUAL_LONGEST_WAIT):
            return f"{self.stage} is {ago(self.oldest)} behind."
        return ""


def stage_statuses(now: datetime) -> list[StageStatus]:
    rows = {row.name: row for row in Stage.objects.all()}
    tasks = {row.name: row for row in PeriodicTask.objects.filter(name__in=STAGES).select_related("interval")}
    due_since, statuses = oldest_due(now), []
    for name in STAGES:
        row, task = rows.get(name), tasks.get(name)
        # Unknown with a crontab.
        interval = task.interval.schedule.run_every if task and task.interval else None
        status = StageStatus(
            stage=name,
            watched=bool(task and task.enabled and interval),
            interval=interval or timedelta(0),
            ran=_age((row.ran_at or row.since) if row else now, now),
            has_run=bool(row and row.ran_at),
            ticked=_age(row.ticked_at, now) if row and row.ticked_at else None,
            oldest=_age(due_since.get(name), now),
            has_due_work=name in due_since,
        )
        statuses.append(status)
    return statuses


def _age(moment: datetime | None, now: datetime) -> timedelta:
    return max(now - moment, timedelta(0)) if moment else timedelta(0)


def oldest_due(now: datetime) -> dict[str, datetime | None]:
    """Return due times of the oldest work; None if nothing is due.

    Stages without a known due time are omitted.
    """
    (feeds,), (posts,), (webhooks, _) = to_poll(now), to_assign(now), to_call(now)
    # Since the end of its period, or since it was full.
    over = collections_over(now)
    ended = over.filter(period_end__isnull=False).aggregate(oldest=Min("period_end"))["oldest"]
    full = over.filter(period_end=None).annotate(full_at=Max("assignments__assigned_at"))
    collections = [ended, *full.order_by("full_at").values_list("full_at", flat=True)[:1]]
    # Paused lanes need a person.
    letters = Delivery.objects.due(now).filter(lane__paused=False)
    expired = Delivery.objects.expired(now)
    calls = WebhookCall.objects.filter(webhook__in=webhooks, state="queued", due_at__lte=now)
    return {
        "feeds.poll": _first(feeds, "next_poll_at"),
        "subscriptions.assign": _first(posts, "final_at"),
        "subscriptions.lists": _first(to_take_over(now)[0], "created_at"),
        "delivery.complete": min((moment for moment in collections if moment), default=None),
        "delivery.send": letters.order_by().aggregate(oldest=Min("due_at"))["oldest"],
        "delivery.reap": _first(expired, "lease_until"),
        "delivery.webhooks": calls.order_by().aggregate(oldest=Min("due_at"))["oldest"],
        "delivery.old_issues": _first(to_import(now)[0], "created_at"),
        "reader.place": _first(to_place(now)[0], "due_at"),
        "reader.lists": _first(to_follow(now)[0], "made_at"),
        "reader.mentions": _first(to_check(now)[0], "due_at"),
        "reader.compose": _first(to_compose(now)[0], "due_at"),
    }


def _first(rows: "QuerySet[Any]", column: str) -> datetime | None:
    return rows.order_by(column).values_list(column, flat=True).first()


def stages_without_work(now: datetime) -> set[str]:
    answers = _HAVE_WORK.each_at(now)
    return {stage for stage, has_work in zip(QUESTIONS, answers, strict=True) if not has_work}


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Does not use the database, whose outage must not restart processes."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database answers and is migrated, else 503 with the reason.

    `/readyz?stages` also checks the stages.
    """
    reason = what_is_missing()
    if not reason and "stages" in request.GET:
        reason = " ".join(one.trouble for one in stage_statuses(utcnow()) if one.trouble)
    note = UNDECLARED if not reason and undeclared_proxy() else ""
    return HttpResponse(f"{reason or 'ok'}\n{note}", content_type="text/plain", status=503 if reason else 200)


def what_is_missing() -> str:
    if reason := full_disk():
        return reason
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return not_migrated()
    except DatabaseError:
        return "The database doesn’t answer."


def full_disk() -> str:
    """Return an error, or "": otherwise only failed letters would show a full disk."""
    folders = {"DATA_DIR": Path(settings.DATA_DIR)}
    if connection.vendor == "sqlite":
        folders["DATABASE_URL"] = Path(str(connection.settings_dict["NAME"])).parent
    for name, folder in folders.items():
        if folder.is_dir() and shutil.disk_usage(folder).free < LEAST_FREE:
            return f"The disk that {name} is on is full."
    return ""


def not_migrated() -> str:
    name = str(connection.settings_dict["NAME"])
    if name not in _migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return f"Migrations are missing: run {MANAGE} migrate."
        if reason := unfit(connection):
            return reason
        _migrated.add(name)
    return ""
