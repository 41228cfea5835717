"""The forms of lanes and of their domains: each limit with what it does, and an example."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.clock import utcnow
from delivery.lanes.settings import recipient_domain
from delivery.models import Lane, LaneDomain

HELP = {
    "rate": "For example 10, or 0.5 for one every two seconds. Empty: no limit.",
    "burst": "With a limit a second: how many may go at once after a rest, for example 20.",
    "per_hour": "For example 500. Counted over any 60 minutes, not from hour to hour. Empty: no limit.",
    "per_day": "For example 5000. Counted over any 24 hours. Empty: no limit.",
    "warm_up_from": "For a new server or address: its first day. Empty: no warm-up.",
    "warm_up_first": "In 24 hours, for example 50.",
    "warm_up_growth": "For example 1.5: 50, 75, 112, 168 … until the most in 24 hours, or a million.",
}

LIMIT_LABELS = {
    "rate": "Messages a second",
    "burst": "At once, after a rest",
    "spacing_seconds": "Seconds between messages",
}


class LimitsForm(forms.ModelForm):  # type: ignore[type-arg]
    """What a lane and a domain have in common."""

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if (data.get("per_hour") or 0) > (data.get("per_day") or float("inf")):
            self.add_error("per_hour", "It is more than the most in 24 hours.")
        return data


class LaneForm(LimitsForm):
    class Meta:
        model = Lane
        fields = "__all__"  # noqa: DJ007 - the admin's fieldsets name those that are shown
        labels = LIMIT_LABELS
        help_texts = {  # noqa: RUF012
            **HELP,
            "concurrency": "Open at once, in all workers together; a small server may allow 5, for example.",
            "messages_per_connection": "Then it is closed and another is opened, for example 100.",
            "per_recipient": "For example 10. A day begins at 00:00 UTC; what is over it waits for the next.",
            "spacing_seconds": "A pause after each message, for example 60. 0: none.",
        }


class DomainForm(LimitsForm):
    class Meta:
        model = LaneDomain
        fields = "__all__"  # noqa: DJ007 - as above
        labels = LIMIT_LABELS
        help_texts = {  # noqa: RUF012
            **HELP,
            "concurrency": "How many may be under way at a time, for example 2. Empty: no limit.",
        }

    def clean_domain(self) -> str:
        return checked_domain_of_form(self.cleaned_data["domain"])


def checked_domain_of_form(text: str) -> str:
    """The domain; its error is the field's own."""
    try:
        return recipient_domain(text)
    except ValidationError as error:
        raise ValidationError(error.messages) from error


class PauseDomainForm(forms.Form):
    domain = forms.CharField(
        max_length=255,
        widget=UnfoldAdminTextInputWidget(),
        help_text="As it stands after the @, such as gmail.com.",
    )
    reason = forms.CharField(
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
        help_text="For whoever finds it paused, such as: they block us, their form was filled in on Monday.",
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = "Deliveries to this domain are held until you resume it; all others go on."

    def clean_domain(self) -> str:
        return checked_domain_of_form(self.cleaned_data["domain"])


def stopped_domains(lane_ids: list[int]) -> "QuerySet[LaneDomain]":
    """The domains that are paused, or rest because they refuse our letters."""
    stopped = Q(paused=True) | Q(refused_since__isnull=False, free_at__gt=utcnow())
    return LaneDomain.objects.filter(stopped, lane__in=lane_ids)


class ResumeDomainForm(forms.Form):
    domain = forms.ChoiceField(widget=UnfoldAdminSelectWidget())

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        stopped = stopped_domains(keys).values_list("domain", flat=True)
        self.fields["domain"].choices = [(name, name) for name in sorted(set(stopped))]  # type: ignore[attr-defined]
        self.intro = "What was held for it, or waits for its rest to end, goes on within the lane's limits."
