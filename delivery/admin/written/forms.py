"""For which newsletter a letter of one's own is, and when it goes."""

from datetime import datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.clock import utcnow
from delivery.admin.issue_actions import MomentWidget
from delivery.rendering.subjects import LONGEST_SUBJECT
from subscriptions.models import Subscribable
from subscriptions.rules.schedule import first_instant, wall
from subscriptions.rules.words import clock_words, zone_words


class BeginForm(forms.Form):
    """Where there is one newsletter, nobody need choose."""

    subscribable = forms.ModelChoiceField(
        Subscribable.objects.none(),
        label="Newsletter",
        widget=UnfoldAdminSelectWidget(),
        help_text="Its subscribers get the letter.",
    )
    subject = forms.CharField(
        required=False,
        max_length=LONGEST_SUBJECT,
        widget=UnfoldAdminTextInputWidget(),
        help_text="It can be changed until the letter goes out.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.newsletters = Subscribable.objects.filter(channel="email")
        self.fields["subscribable"].queryset = self.newsletters  # type: ignore[attr-defined]
        if len(only := list(self.newsletters.values_list("pk", flat=True)[:2])) == 1:
            self.initial["subscribable"] = only[0]


class ScheduleForm(forms.Form):
    """A day and an hour on the newsletter's own clock."""

    at = forms.CharField(widget=MomentWidget())

    def __init__(self, newsletter: Subscribable, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.zone = newsletter.zone
        shown = wall(utcnow(), self.zone)
        zone = zone_words(self.zone)
        self.fields["at"].label = f"Send it at ({zone})"
        self.fields[
            "at"
        ].help_text = f"The newsletter’s own clock, which shows {clock_words(shown.time())} now."

    def clean_at(self) -> datetime:
        """The instant; in a gap of the clock, the first one after it."""
        try:
            reading = datetime.fromisoformat(self.cleaned_data["at"])
        except ValueError:
            reading = None
        if reading is None or reading.tzinfo is not None:
            raise forms.ValidationError("Give a day and an hour, such as 2026-03-01T07:00.")
        try:
            return first_instant(reading, self.zone)
        except OverflowError as error:
            raise forms.ValidationError("Give a year that calendars have.") from error
