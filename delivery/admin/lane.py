"""Admin pages of lanes."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import AllValuesFieldListFilter, BooleanFieldListFilter
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import StackedInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from channels import channel
from channels.account import EMAIL
from common.admin.flows import asks
from common.admin.html import moment_of
from common.admin.model_admin import ServiceAdmin, count_of
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.ports.panels import Action, Panel
from common.text import pluralize
from delivery.admin.lane_panels import connections, describe_lane, lane_use, of_domains, warm_up
from delivery.issues.pause import PAUSED_BY_HAND
from delivery.lanes.settings import (
    OF_DOMAINS,
    OF_LANES,
    alter_domain,
    alter_lane,
    drop_domain,
    pause_domain,
    pause_lanes,
    recipient_domain,
    resume_domain,
    resume_lanes,
)
from delivery.lanes.status import in_words, lane_state
from delivery.models import Delivery, Lane, LaneDomain
from delivery.rules.progress import waiting_words

HELP = {
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
            **HELP,
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
            **HELP,
            "concurrency": "Messages sent at the same time, for example 2. Leave empty for no limit.",
        }

    def clean_domain(self) -> str:
        return checked_domain_of_form(self.cleaned_data["domain"])


def checked_domain_of_form(text: str) -> str:
    """Return the domain. Converts its errors to the field's."""
    try:
        return recipient_domain(text)
    except ValidationError as error:
        raise ValidationError(error.messages) from error


class PauseDomainForm(forms.Form):
    domain = forms.CharField(
        max_length=255,
        widget=UnfoldAdminTextInputWidget(),
        help_text="The part after the @, for example gmail.com.",
    )
    reason = forms.CharField(
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
        help_text=("Shown to others, for example “They block us. We filled in their form on Monday.”"),
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = "Deliveries to this domain wait until you resume it. Other deliveries continue."

    def clean_domain(self) -> str:
        return checked_domain_of_form(self.cleaned_data["domain"])


def stopped_domains(lane_ids: list[int]) -> "QuerySet[LaneDomain]":
    """Return domains that are paused, or resting after refusals."""
    stopped = Q(paused=True) | Q(refused_since__isnull=False, free_at__gt=utcnow())
    return LaneDomain.objects.filter(stopped, lane__in=lane_ids)


class ResumeDomainForm(forms.Form):
    domain = forms.ChoiceField(widget=UnfoldAdminSelectWidget())

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        stopped = stopped_domains(keys).values_list("domain", flat=True)
        self.fields["domain"].choices = [(name, name) for name in sorted(set(stopped))]  # type: ignore[attr-defined]
        self.intro = "Waiting deliveries to it are sent within the lane’s limits."


LANE_COLOURS = {"open": "success", "resting": "warning", "paused": "danger"}
SPEED = ("How fast", {"fields": (("rate", "burst"), "spacing_seconds")})
MOST = ("How many", {"fields": (("per_hour", "per_day"),)})
MOST_OF_ONE = ("How many", {"fields": (("per_hour", "per_day"), "per_recipient")})
WARM_UP = ("Warm-up", {"fields": ("warm_up_from", ("warm_up_first", "warm_up_growth"))})


def pause_chosen_lanes(request: HttpRequest, keys: list[int]) -> str:
    count = pause_lanes(lane_ids=keys, reason=PAUSED_BY_HAND)
    return f"{pluralize(count, 'lane')} paused. Nothing is sent there until you resume."


def resume_chosen_lanes(request: HttpRequest, keys: list[int]) -> str:
    return f"{pluralize(resume_lanes(lane_ids=keys, now=utcnow()), 'lane')} can send again."


def pause_one(request: HttpRequest, keys: list[int], domain: str, reason: str) -> str:
    now, why = utcnow(), reason or PAUSED_BY_HAND
    done = sum(pause_domain(lane_id=pk, domain=domain, reason=why, now=now) for pk in keys)
    return f"Nothing is sent to {domain} until you resume it." if done else f"{domain} was paused already."


def resume_one(request: HttpRequest, keys: list[int], domain: str) -> str:
    queued = sum(resume_domain(lane_id=pk, domain=domain, now=utcnow()) for pk in keys)
    return f"{domain} resumed; {pluralize(queued, 'delivery', 'deliveries')} queued."


def has_domains(lane: Lane) -> bool:
    return lane.kind == EMAIL


def has_stopped_domain(lane: Lane) -> bool:
    return stopped_domains([lane.pk]).exists()


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
        "delivery.view_account",
    )
    inlines = (DomainInline,)
    own_panels = (
        Panel("Status", describe_lane, order=10),
        Panel("Usage", lane_use, order=20),
        Panel("Coming days", warm_up, order=30),
        Panel("Who sends now", connections, order=35),
        Panel("Domains", of_domains, order=40),
    )
    own_actions = (
        Action("pause", "Pause", pause_chosen_lanes, fits=lambda lane: not lane.paused),
        Action("resume", "Resume", resume_chosen_lanes, fits=lambda lane: lane.paused or lane.free_at),
        Action("pause_domain", "Pause a domain", pause_one, form=PauseDomainForm, fits=has_domains),
        Action(
            "resume_domain", "Resume a domain", resume_one, form=ResumeDomainForm, fits=has_stopped_domain
        ),
    )
    rests = moment_of("free_at", "rests until")

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

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="waiting", ordering="waiting_count")
    def waiting(self, lane: Any) -> str:
        return waiting_words(lane.waiting_count, lane.held_count)

    @display(description="state", label=LANE_COLOURS)
    def state_now(self, lane: Lane) -> str:
        return lane_state(lane, utcnow())

    @display(description="limits")
    def limits(self, lane: Lane) -> SafeString:
        # This class lets a cell grow with its text on a phone.
        return format_html('<span class="fl-tags">{}</span>', ", ".join(in_words(lane, utcnow())) or "–")
