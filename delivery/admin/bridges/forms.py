"""The forms of a bridge, made of what its kind declares."""

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
)

from common.ports import channels
from feeds.models import Feed
from subscriptions.admin_words import rhythm_for_admins
from subscriptions.forms.admin import EARLY, ClockWidget, filled, form_field, name_of, refusal_by_field
from subscriptions.models import Subscribable
from subscriptions.models.subscribable import NAME

Arrangement = Subscribable.Arrangement
RHYTHMS = {
    Arrangement.EACH: "Each post by itself, when it has settled",
    Arrangement.DAILY: "One post a day, if there is anything new",
    Arrangement.WEEKLY: "One post a week",
    Arrangement.MONTHLY: "One post a month",
}


class KindForm(forms.Form):
    """Fields of one channel, under names that hold the channel's. A subclass says which."""

    def __init__(self, kind: channels.ChannelSpec, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def add(self, fields: tuple[channels.Field, ...], known: Mapping[str, str]) -> None:
        """Adds a channel's fields, with what is known of them."""
        for field in fields:
            made = form_field(field)
            made.required, made.initial = field.required, known.get(field.name, "")
            self.fields[name_of(self.kind, field)] = made

    def given(self, fields: tuple[channels.Field, ...]) -> dict[str, str]:
        """What was typed, by the channel's own names."""
        return filled(self.kind, fields, self.cleaned_data)

    def refuse(self, error: channels.InvalidDestination) -> None:
        """Shows a channel's refusal at the field that it names, else above the form."""
        for name, text in refusal_by_field(self.kind, str(error), otherwise="").items():
            self.add_error(name if name in self.fields else None, text)


class DestinationForm(KindForm):
    """Where a bridge posts to; secrets are typed anew."""

    def __init__(self, kind: channels.ChannelSpec, *args: Any, known: Any = None, **kwargs: Any) -> None:
        super().__init__(kind, *args, **kwargs)
        self.add(kind.destination_fields, known or {})

    def destination(self) -> dict[str, str]:
        return self.given(self.kind.destination_fields)


class ConnectForm(DestinationForm):
    """A new bridge: its feeds, its names, and where it posts to."""

    feeds = forms.ModelMultipleChoiceField(
        queryset=Feed.objects.none(),
        label="Posts of",
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        error_messages={"required": "Choose at least one feed."},
    )
    title = forms.CharField(
        max_length=200,
        widget=UnfoldAdminTextInputWidget(),
        help_text="How you find it here; {newsletter} in words of your own.",
    )
    name = forms.CharField(
        max_length=64,
        validators=[NAME],
        widget=UnfoldAdminTextInputWidget(attrs={"spellcheck": "false", "autocapitalize": "none"}),
        help_text="The usual posts begin with it, in brackets. It never changes.",
    )

    def __init__(self, kind: channels.ChannelSpec, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind, *args, **kwargs)
        choice: Any = self.fields["feeds"]
        choice.queryset = Feed.objects.filter(dropping=False).order_by("title", "pk")
        # The service comes first: that is what whoever opens the page has at hand.
        last = ("feeds", "title", "name")
        self.order_fields([*(name for name in self.fields if name not in last), *last])


class HowForm(KindForm):
    """How a bridge posts: its rhythm, and its channel's options."""

    arrangement = forms.ChoiceField(label="When", widget=UnfoldAdminRadioSelectWidget())
    at = forms.TimeField(
        label="At",
        required=False,
        widget=ClockWidget(),
        help_text="For one post a day, a week or a month. Weekdays, every few posts and schedules of your own"
        " are in its settings.",
    )

    def __init__(self, kind: channels.ChannelSpec, bridge: Subscribable, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind, *args, **kwargs)
        self.bridge = bridge
        choices = [(str(key), words) for key, words in RHYTHMS.items() if key in kind.arrangements]
        if bridge.arrangement not in RHYTHMS:
            choices.append((bridge.arrangement, f"As it is: {rhythm_for_admins(bridge)}"))
        arrangement: Any = self.fields["arrangement"]
        arrangement.choices, arrangement.initial = choices, bridge.arrangement
        self.fields["at"].initial = EARLY if bridge.arrangement == Arrangement.EACH else bridge.at
        self.add(kind.option_fields, bridge.options)

    def changes(self) -> dict[str, Any]:
        """For `alter_subscribable`."""
        arrangement, at = self.cleaned_data["arrangement"], self.cleaned_data["at"]
        found: dict[str, Any] = {"options": self.given(self.kind.option_fields)}
        if arrangement == self.bridge.arrangement and arrangement not in RHYTHMS:
            return found
        found["arrangement"] = arrangement
        return found if arrangement == Arrangement.EACH or at is None else {**found, "at": at}
