"""Admin pages of lanes."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import AllValuesFieldListFilter, BooleanFieldListFilter
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import StackedInline

from channels import channel
from channels.rules.accounts import DEFAULT_ACCOUNT
from channels.rules.meaning import advice
from channels.rules.server_words import meaning
from common.admin.html import column, list_link, moment_of, when
from common.admin.lists import asks
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList, nobody_may
from common.admin.resources import actions_of
from common.clock import utcnow
from common.db.bulk import count_of
from common.parts import Bar, Box, Chart, Facts, Link, Meter, Part, Table, Text
from common.ports.panels import Panel
from common.text import pluralize
from delivery.accounts.accounts import default_account, keeps_letters, server_of
from delivery.lanes.lanes import (
    DomainStanding,
    coming_days,
    domain_standings,
    holders,
    in_words,
    lane_state,
    lane_status,
    last_day,
    why_resting,
)
from delivery.lanes.limits import (
    OF_DOMAINS,
    OF_LANES,
    alter_domain,
    alter_lane,
    drop_domain,
    recipient_domain,
)
from delivery.models import Account, Delivery, Lane, LaneDomain
from delivery.resources.accounts import lanes
from delivery.rules.limits import PROOF
from delivery.rules.progress import waiting_words

LANE_HELP = {
    "rate": "For example 10, or 0.5 for one every two seconds. Leave empty for no limit.",
    "burst": "With a limit per second, the number of messages sent at once after a pause, for example 20.",
    "per_hour": "For example 500. Counted over any 60 minutes. Leave empty for no limit.",
    "per_day": "For example 5000. Counted over any 24 hours. Leave empty for no limit.",
    "warm_up_from": "Limit on the first day of a new server or address. Leave empty for no warm-up.",
    "warm_up_first": "In 24 hours, for example 50.",
    "warm_up_growth": "For example 1.5 gives 50, 75, 112, 168 … until the limit for 24 hours, or a million.",
}

LIMIT_LABELS = {
    "rate": "Messages a second",
    "burst": "At once, after a rest",
    "spacing_seconds": "Seconds between messages",
}
WARM_UP_DAYS_SHOWN = 14
LANE_COLOURS = {"open": "success", "resting": "warning", "paused": "danger"}
SPEED = ("How fast", {"fields": (("rate", "burst"), "spacing_seconds")})
MOST = ("How many", {"fields": (("per_hour", "per_day"),)})
MOST_OF_ONE = ("How many", {"fields": (("per_hour", "per_day"), "per_recipient")})
WARM_UP = ("Warm-up", {"fields": ("warm_up_from", ("warm_up_first", "warm_up_growth"))})


def describe_lane(lane: Lane) -> Part:
    waiting = waiting_words(*Delivery.objects.filter(lane=lane).unsent())
    return Facts(
        ("Server", _server(lane) if lane.kind == "email" else ""),
        ("Waiting to be sent", list_link(Delivery, waiting, lane__id__exact=lane.pk)),
        ("Order", "One at a time, in order." if lane.serial else "Many at once."),
        ("Limits", ", ".join(in_words(lane, utcnow())) or "None."),
        ("Paused", (lane.paused_reason or "No reason given.") if lane.paused else ""),
        ("Connections", _fewer_connections(lane)),
        ("The service", why_resting(lane.kind, utcnow())),
        ("Rests until", when(lane.free_at, "")),
        ("Last error", lane.last_error),
        ("What to do", advice(meaning(lane.last_error)) if lane.refused_since else ""),
    )


def _fewer_connections(lane: Lane) -> str:
    if lane.width == lane.concurrency:
        return ""
    if lane.server_takes is None:
        return (
            f"{lane.width} of {lane.concurrency}. The number doubles each time that every connection has sent"
            f" {PROOF} messages, and halves if the server asks us to slow down. Set a number to keep it."
        )
    return (
        f"{lane.width} of {lane.concurrency}. The server refused one more on {when(lane.server_takes_since)}:"
        f" {lane.server_said} More are tried from time to time. If the server never accepts more, lower the"
        " number of connections to what it accepts."
    )


def _server(lane: Lane) -> Part:
    if lane.account == DEFAULT_ACCOUNT:
        if row := default_account():
            return (Link(row), f" ({server_of(row)})")
        return "Emails are kept here, not sent." if keeps_letters() else "That of EMAIL_URL."
    account = Account.objects.mail().filter(name=lane.account).first()
    if account is None:
        return "Its email account no longer exists."
    return (Link(account), f" ({server_of(account)})")


def lane_use(lane: Lane) -> Part:
    """Show use per hour and day with limits, and a chart of 24 hours."""
    now = utcnow()
    shown = lane_status(lane, now)
    if not shown.counts:
        return "Messages are counted once there is a limit per hour or per 24 hours, or a warm-up."
    of_day = f"in the last 24 hours{' (warming up)' if shown.warms_up else ''}"
    return (
        "" if shown.per_hour is None else Meter(shown.used.hour, shown.per_hour, "in the last hour"),
        "" if shown.today is None else Meter(shown.used.day, shown.today, of_day),
        _plot(lane, shown.used.day) if shown.used.day else "",
    )


def _plot(lane: Lane, total: int) -> Part:
    halves = last_day(lane, utcnow(), parts=48)
    most = max(count for _, count in halves)
    return Chart(
        "Messages in each half hour",
        f"{pluralize(total, 'message')} in 24 hours, {most:,} at most in half an hour.",
        [Bar(count, f"{when(start)}: {pluralize(count, 'message')}") for start, count in halves],
        "24 hours ago",
        "now",
    )


def warm_up(lane: Lane) -> Part:
    if lane.warm_up_from is None:
        return ""
    days = coming_days(lane, utcnow(), days=WARM_UP_DAYS_SHOWN)
    if not days:
        return "The warm-up is over."
    rows = ((f"{day:%A}, {day.day} {day:%B}", f"{count:,}") for day, count in days)
    then = days[-1][0] + timedelta(days=1)
    over = f"From {then.day} {then:%B}, the warm-up no longer limits sending."
    end = "And so on." if len(days) == WARM_UP_DAYS_SHOWN else over
    return (Box("narrow", Table(("Day", "Messages at most in 24 hours"), rows)), Text(end, "quiet"))


def connections(lane: Lane) -> Part:
    shares = holders(lane, utcnow())
    rows = ((str(share.holder)[:8], share.connections, when(share.until)) for share in shares)
    return Table(("Worker", f"Connections of {lane.concurrency}", "Unless renewed, until"), rows, "")


def of_domains(lane: Lane) -> Part:
    rows = (_domain_cells(lane, each) for each in domain_standings(lane, utcnow()))
    return Table(("Domain", "State", "Limits", "Last hour", "Last 24 hours", "Held"), rows, "")


def _domain_cells(lane: Lane, shown: DomainStanding) -> tuple[Any, ...]:
    row = shown.row
    state = "Open"
    if row.paused:
        state = f"Paused. {row.paused_reason}".strip()
    elif row.free_at is not None and row.free_at > utcnow():
        todo = advice(meaning(row.last_error)) if row.refused_since else ""
        state = f"Rests until {when(row.free_at)}. {row.last_error} {todo}".strip()
    held: Any = shown.held
    if shown.held:
        held = list_link(
            Delivery,
            f"{shown.held:,}",
            lane__id__exact=lane.pk,
            state__exact="held",
            domain__exact=row.domain,
        )
    hour = f"{shown.used.hour:,}" if row.per_hour is None else f"{shown.used.hour:,} of {row.per_hour:,}"
    day = f"{shown.used.day:,}" if shown.today is None else f"{shown.used.day:,} of {shown.today:,}"
    return row.domain, state, ", ".join(in_words(row, utcnow())) or "None", hour, day, held


class LimitsForm(forms.ModelForm):  # type: ignore[type-arg]
    """Limits shared by lanes and domains."""

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if (data.get("per_hour") or 0) > (data.get("per_day") or float("inf")):
            self.add_error("per_hour", "This is more than the limit for 24 hours.")
        return data


class LaneForm(LimitsForm):
    class Meta:
        model = Lane
        fields = "__all__"  # noqa: DJ007 - the admin's fieldsets name the fields
        labels = LIMIT_LABELS
        help_texts = {  # noqa: RUF012
            **LANE_HELP,
            "concurrency": "Connections open at the same time in all workers. For example 5 for a "
            "small server.",
            "messages_per_connection": "Messages per connection before a new one is opened, for example 100.",
            "per_recipient": "For example 10. A day starts at 00:00 UTC. Further messages wait for the "
            "next day.",
            "spacing_seconds": "Pause after each message, for example 60. 0 for none.",
        }


class DomainForm(LimitsForm):
    class Meta:
        model = LaneDomain
        fields = "__all__"  # noqa: DJ007 - as above
        labels = LIMIT_LABELS
        help_texts = {  # noqa: RUF012
            **LANE_HELP,
            "concurrency": "Messages sent at the same time, for example 2. Leave empty for no limit.",
        }

    def clean_domain(self) -> str:
        """Return the domain. Converts its errors to the field's."""
        try:
            return recipient_domain(self.cleaned_data["domain"])
        except ValidationError as error:
            raise ValidationError(error.messages) from error


class DomainInline(StackedInline):  # type: ignore[misc]
    model = LaneDomain
    form = DomainForm
    extra = 0
    collapsible = True
    verbose_name = "domain with its limits"
    verbose_name_plural = "domains with their limits"
    fields = (
        ("domain", "concurrency"),
        ("rate", "burst"),
        ("per_hour", "per_day"),
        "warm_up_from",
        ("warm_up_first", "warm_up_growth"),
    )


def limits_of(lane: Lane) -> Part:
    # This class lets a cell grow with its text on a phone.
    return Text(", ".join(in_words(lane, utcnow())) or "–", "tags")


@admin.register(Lane)
class LaneAdmin(ServiceAdmin):
    form = LaneForm
    list_display = ("__str__", "waiting", "state_now", "limits", "concurrency", "rests", "last_error")
    list_filter = (
        ("kind", asks("Which channel is it for?", AllValuesFieldListFilter)),
        ("paused", asks("Which are paused?", BooleanFieldListFilter)),
    )
    empty = EmptyList(
        "No lanes yet",
        "A lane is an email account, or an account of another service, with its "
        "sending limits. It’s created with the first message.",
        "Set up email",
        "mail_set_up",
    )
    inlines = (DomainInline,)
    own_panels = (
        Panel("Status", describe_lane, order=10),
        Panel("Usage", lane_use, order=20),
        Panel("Coming days", warm_up, order=30),
        Panel("Who sends now", connections, order=35),
        Panel("Domains", of_domains, order=40),
    )
    own_actions = actions_of(lanes)
    has_add_permission = nobody_may
    rests = moment_of("free_at", "rests until")
    state_now = column("state", lambda lane: lane_state(lane, utcnow()), label=LANE_COLOURS)
    limits = column("limits", limits_of)
    waiting = column(
        "waiting", lambda lane: waiting_words(lane.waiting_count, lane.held_count), ordering="waiting_count"
    )

    def get_fieldsets(self, request: HttpRequest, obj: Lane | None = None) -> Any:
        if obj is not None and obj.serial:
            return (SPEED, MOST)
        counts_recipients = obj is not None and channel(obj.kind).lane.per_recipient is not None
        return (
            ("Connections", {"fields": (("concurrency", "messages_per_connection"),)}),
            SPEED,
            MOST_OF_ONE if counts_recipients else MOST,
            WARM_UP,
        )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Lane]":
        every: QuerySet[Lane] = super().get_queryset(request)
        sending = Delivery.objects.filter(state=Delivery.State.SENDING)
        held = Delivery.objects.filter(state=Delivery.State.HELD)
        return every.annotate(
            waiting_count=count_of(Delivery.objects.waiting(), "lane") + count_of(sending, "lane"),
            held_count=count_of(held, "lane"),
        )

    def save_model(self, request: HttpRequest, obj: Lane, form: Any, change: bool) -> None:
        # Save only changed fields: workers take tokens from the row meanwhile.
        changed = OF_LANES & set(form.changed_data)
        if changed:
            alter_lane(lane=obj, **{name: form.cleaned_data[name] for name in changed})

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        formset.save(commit=False)  # collects new, changed and deleted rows
        now = utcnow()
        for row in formset.deleted_objects:
            drop_domain(lane_id=row.lane_id, domain=row.domain, now=now)
        for each in (*formset.initial_forms, *formset.extra_forms):
            if not each.has_changed() or each.cleaned_data.get("DELETE"):
                continue
            row, data = each.instance, each.cleaned_data
            before = each.initial.get("domain", row.domain)
            if before != data["domain"]:
                drop_domain(lane_id=row.lane_id, domain=before, now=now)
            limits = {name: data[name] for name in OF_DOMAINS}
            alter_domain(lane=row.lane, domain=data["domain"], now=now, **limits)
