from datetime import date, datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import get_language_info, gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _

from common.formats.dates import day_words
from common.ports import channels
from common.ports.channels import InvalidDestination
from subscriptions.forms.sign_up import NameForm
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.pauses import BadDate, bounds, pause_end


class DetailsForm(NameForm):
    language = forms.ChoiceField(label=gettext_lazy("Language of these pages and emails"), required=False)

    def __init__(self, *args: Any, subscription: Subscription, **kwargs: Any) -> None:
        initial = {"name": subscription.display_name, "language": subscription.language}
        super().__init__(*args, initial=initial, **kwargs)
        newsletter, chosen = subscription.subscribable, subscription.language
        own_language = {"language": _own_name(newsletter.language or "en")}
        known = list(settings.LANGUAGES)
        # Sign-ups store the browser's language, perhaps a variant of ours.
        other = [(chosen, _own_name(chosen))] if chosen and chosen not in dict(known) else []
        usual = ("", gettext("As the newsletter (%(language)s)") % own_language)
        self.fields["language"].choices = [usual, *known, *other]  # type: ignore[attr-defined]

    @property
    def given_language(self) -> str | None:
        """None if the form had no such field."""
        return str(self.cleaned_data["language"]) if "language" in self.data else None


class PauseForm(forms.Form):
    until = forms.DateField(
        label=gettext_lazy("Until another day"),
        input_formats=["%Y-%m-%d"],
        error_messages={
            "required": gettext_lazy("Please choose a day."),
            "invalid": gettext_lazy("Please give the day as year-month-day, such as 2026-12-31."),
        },
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )

    def __init__(self, *args: Any, newsletter: Subscribable, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.zone, self.now = newsletter.zone, now
        self.first, self.last = bounds(now=now, zone=self.zone)
        limits = {"min": self.first.isoformat(), "max": self.last.isoformat()}
        self.fields["until"].widget.attrs.update(limits)

    def clean_until(self) -> date:
        day: date = self.cleaned_data["until"]
        try:
            pause_end(day, now=self.now, zone=self.zone)
        except BadDate as error:
            message = gettext("Please choose a day from %(first)s to %(last)s.")
            days = {"first": day_words(self.first), "last": day_words(self.last)}
            raise forms.ValidationError(message % days) from error
        return day


def _own_name(code: str) -> str:
    try:
        return str(get_language_info(code)["name_local"]).capitalize()
    except KeyError:
        return code


class SignInForm(forms.Form):
    email = forms.CharField(
        label=_("Your email address"),
        max_length=320,
        error_messages={"required": _("Please type your email address.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email", "placeholder": "you@example.org"}),
    )
    website = forms.CharField(
        label=_("Leave this empty"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "tabindex": "-1"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            channels.get("email").parse_destination({"email": email})
        except InvalidDestination as error:
            message = _("This does not look like an email address. Please check it.")
            raise forms.ValidationError(message) from error
        return email

    @property
    def is_trap_sprung(self) -> bool:
        return bool(self.data.get("website"))
