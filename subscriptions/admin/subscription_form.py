"""The form of a new subscriber."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldBooleanSwitchWidget

from common.ports import channels
from subscriptions.forms.admin import destination_form_fields, filled, refusal_by_field
from subscriptions.models import Subscription


class SubscriberForm(forms.ModelForm):  # type: ignore[type-arg]
    """Use `subscriber_form()`: it adds the fields of all channels. The newsletter's channel takes its own."""

    class Meta:
        model = Subscription
        fields = ("subscribable",)

    is_confirmed = forms.BooleanField(
        label="Confirmed",
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget(),
        help_text="They have agreed already. Otherwise e-mail subscribers are asked by mail to confirm.",
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if "subscribable" in data:
            with self.refusals_at_fields():
                self.kind.parse_destination(self.destination())
        return data

    @property
    def kind(self) -> channels.ChannelSpec:
        return channels.get(self.cleaned_data["subscribable"].channel)

    def destination(self) -> dict[str, str]:
        """What was typed for the newsletter's channel, by the channel's own names."""
        return filled(self.kind, self.kind.destination_fields, self.cleaned_data)

    @contextmanager
    def refusals_at_fields(self) -> Iterator[None]:
        """Shows what the channel refuses at the field that it names, else at its first."""
        try:
            yield
        except channels.InvalidDestination as error:
            first = self.kind.destination_fields[0].name
            raise ValidationError(refusal_by_field(self.kind, str(error), otherwise=first)) from error


def subscriber_form() -> type[SubscriberForm]:
    """The form, with a field for everything that a channel asks for."""
    return type("SubscriberForm", (SubscriberForm,), destination_form_fields())
