from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import BooleanFieldListFilter
from django.http import HttpRequest
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from common.admin.html import ago, column, moment_of
from common.admin.lists import asks
from common.admin.page_words import EmptyList, PageWords, nobody_may, words_of
from feedletter_site.api.admin import ApiTokenAdmin
from feedletter_site.migrate_from.admin import ArrivalAdmin
from feedletter_site.team.admin import GroupAdmin, UserAdmin
from feedletter_site.ticks.schedule import EVERY_STAGE, STAGES

__all__ = ["ApiTokenAdmin", "ArrivalAdmin", "GroupAdmin", "UserAdmin"]

for model in (PeriodicTask, IntervalSchedule, CrontabSchedule):
    admin.site.unregister(model)
# Nobody changes these here.
for model in (
    SolarSchedule,
    ClockedSchedule,
    EmailAddress,
    Authenticator,
    SocialAccount,
    SocialApp,
    SocialToken,
    UserSession,
):
    admin.site.unregister(model)

# Like the menu.
words_of(PeriodicTask, "stage", "schedule")
apps.get_app_config("django_celery_beat").verbose_name = "Schedule"


# Deletes results, which nobody keeps.
CELERYS_OWN = "celery.backend_cleanup"
SCHEDULE_LABELS = {"interval": "Interval", "crontab": "Crontab", "expire_seconds": "Expires after (seconds)"}
SCHEDULE_HELP = {
    "name": "",
    "description": "",
    "enabled": "If it’s off, this stage doesn’t run.",
    "interval": "",
    "crontab": "",
    "expire_seconds": "A tick that no worker has taken by then is dropped. Use the length of the interval.",
}


def how_often(task: PeriodicTask) -> str:
    if task.interval is None:
        return task.crontab.human_readable if task.crontab else "–"
    every = task.interval.schedule.run_every
    return f"every {ago(every).removeprefix('1 ')}"


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(PageWords):
    """The program defines the stages, so none can be added or deleted."""

    list_display = ("what", "often", "enabled", "last_run")
    list_filter = (("enabled", asks("Which are at work?", BooleanFieldListFilter)),)
    empty = EmptyList(
        "The schedule is empty",
        "Nothing is read or sent now. The service creates its stages when it starts. Restart it.",
    )
    list_select_related = ("interval", "crontab")
    readonly_fields = ("name", "description", "last_run")
    fieldsets = (
        (None, {"fields": ("name", "description", "enabled")}),
        (
            "When it ticks",
            {
                "fields": ("interval", "crontab", "expire_seconds", "last_run"),
                "description": "Choose an interval or a crontab, not both.",
            },
        ),
    )
    what = column("what", lambda task: task.description.rstrip(".") or task.name, ordering="name")
    often = column("how often", how_often)
    last_run = moment_of("last_run_at", "last run", "not yet")
    has_add_permission = has_delete_permission = nobody_may

    def get_queryset(self, request: HttpRequest) -> Any:
        others = {*(EVERY_STAGE.keys() - STAGES.keys()), CELERYS_OWN}
        return super().get_queryset(request).exclude(name__in=others)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(
            request, obj, change=change, labels=SCHEDULE_LABELS, help_texts=SCHEDULE_HELP, **kwargs
        )


@admin.register(IntervalSchedule)
class IntervalAdmin(PageWords):
    empty = EmptyList(
        "No intervals",
        "An interval says how often a stage of the schedule ticks.",
        "Add an interval",
        "admin:django_celery_beat_intervalschedule_add",
    )


@admin.register(CrontabSchedule)
class CrontabAdmin(PageWords):
    empty = EmptyList(
        "No crontabs",
        "A crontab says at which hours a stage of the schedule ticks.",
        "Add a crontab",
        "admin:django_celery_beat_crontabschedule_add",
    )
    list_display = ("__str__", "human_readable")
    fields = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week", "timezone")
