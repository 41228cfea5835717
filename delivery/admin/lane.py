"""The pages of lanes."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin import ServiceAdmin, count_of
from common.admin_html import facts, list_link, moment_of, when
from common.panels import Action, Panel
from common.text import counted
from delivery.models import Delivery, Lane

BY_HAND = "Paused by hand."


def how_it_goes(lane: Lane) -> SafeString:
    waiting = Delivery.objects.waiting().filter(lane=lane).count()
    rows: list[tuple[str, Any]] = [
        ("Waiting", list_link(Delivery, counted(waiting, "delivery", "deliveries"), lane__id__exact=lane.pk)),
        ("Order", "One at a time, in order." if lane.serial else "Many at once."),
    ]
    if lane.paused:
        rows.append(("Paused", lane.paused_reason or "Not said why."))
    if lane.free_at:
        rows.append(("Rests until", when(lane.free_at)))
    if lane.last_error:
        rows.append(("What was wrong last", lane.last_error))
    return facts(rows)


def pause(request: HttpRequest, keys: list[int]) -> str:
    count = Lane.objects.filter(pk__in=keys, paused=False).update(paused=True, paused_reason=BY_HAND)
    return f"{counted(count, 'lane')} paused: nothing goes out there until you resume."


def resume(request: HttpRequest, keys: list[int]) -> str:
    count = Lane.objects.filter(pk__in=keys).update(paused=False, paused_reason="", free_at=None)
    return f"{counted(count, 'lane')} may send again."


@admin.register(Lane)
class LaneAdmin(ServiceAdmin):
    list_display = ("__str__", "waiting", "paused", "rate", "concurrency", "rests", "last_error")
    list_filter = ("kind", "paused")
    fields = ("concurrency", "spacing_seconds", "rate", "burst")
    own_panels = (Panel("How it goes", how_it_goes, order=10),)
    own_actions = (
        Action("pause", "Pause", pause, fits=lambda lane: not lane.paused),
        Action("resume", "Resume", resume, fits=lambda lane: lane.paused or lane.free_at),
    )
    rests = moment_of("free_at", "rests until")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Lane]":
        every: QuerySet[Lane] = super().get_queryset(request)
        return every.annotate(waiting_count=count_of(Delivery.objects.waiting(), "lane"))

    def save_model(self, request: HttpRequest, obj: Lane, form: Any, change: bool) -> None:
        # These fields only: workers take tokens out of the row meanwhile.
        obj.save(update_fields=form.changed_data)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="waiting", ordering="waiting_count")
    def waiting(self, lane: Any) -> int:
        return int(lane.waiting_count)
