from datetime import date, datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import get_language_info, gettext, gettext_lazy

from common.formats.dates import day_words
from subscriptions.forms.sign_up import EmailForm, NameForm, PageForm, TrapForm
from subscriptions.models import Subscribable, Subscription
from subscriptions.newsletters.rhythm import rhythm
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.switches import LENGTHS, bounds, day_after
from subscriptions.subscribers.admin_changes import pause, resume, save_details
from subscriptions.subscribers.frequency import switch, undo_switch


class SignInForm(TrapForm, EmailForm):
    pass


class AddForm(forms.Form):
    newsletter = forms.ModelChoiceField(Subscribable.objects.listed(), to_field_name="name")


class ManageForm(PageForm):
    """A change of a subscription.

    `save` may raise Refused. `done` is what the page then says about `subscription`.
    """

    done = ""

    def __init__(
        self, *args: Any, subscription: Subscription, now: datetime, ip: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.subscription, self.now, self.ip = subscription, now, ip

    def clean(self) -> dict[str, Any]:
        if self.subscription.status == Subscription.Status.UNSUBSCRIBED:
            raise forms.ValidationError(gettext("You’ve unsubscribed, so there’s nothing to change."))
        return self.cleaned_data

    def save(self) -> None:
        raise NotImplementedError


class DetailsForm(ManageForm, NameForm):
    language = forms.ChoiceField(label=gettext_lazy("Language of these pages and emails"), required=False)
    done = "saved"

    def __init__(self, *args: Any, subscription: Subscription, **kwargs: Any) -> None:
        initial = {"name": subscription.display_name, "language": subscription.language}
        super().__init__(*args, subscription=subscription, **{**kwargs, "initial": initial})
        newsletter, chosen = subscription.subscribable, subscription.language
        own_language = {"language": _own_name(newsletter.language or "en")}
        known = list(settings.LANGUAGES)
        # Sign-ups store the browser's language, perhaps a variant of ours.
        other = [(chosen, _own_name(chosen))] if chosen and chosen not in dict(known) else []
        usual = ("", gettext("As the newsletter (%(language)s)") % own_language)
        self.fields["language"].choices = [usual, *known, *other]  # type: ignore[attr-defined]

    def save(self) -> None:
        # Other programs may post the name alone.
        language = self.cleaned_data["language"] if "language" in self.data else None
        save_details(subscription=self.subscription, name=self.cleaned_data["name"], language=language)


class PauseForm(ManageForm):
    until = forms.DateField(
        label=gettext_lazy("Until another day"),
        input_formats=["%Y-%m-%d"],
        error_messages={
            "required": gettext_lazy("Please choose a day."),
            "invalid": gettext_lazy("Please give the day as year-month-day, such as 2026-12-31."),
        },
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    done = "paused"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        until, zone = self.fields["until"], self.subscription.subscribable.zone
        self.first, self.last = bounds(now=self.now, zone=zone)
        until.widget.attrs.update({"min": self.first.isoformat(), "max": self.last.isoformat()})
        if (length := self.data.get("for", "")) in LENGTHS:
            # One of the buttons, which give no day.
            until.initial = day_after(length, now=self.now, zone=zone)
            until.disabled = True

    def clean_until(self) -> date:
        day: date = self.cleaned_data["until"]
        if not self.first <= day <= self.last:
            days = {"first": day_words(self.first), "last": day_words(self.last)}
            raise forms.ValidationError(gettext("Please choose a day from %(first)s to %(last)s.") % days)
        return day

    def save(self) -> None:
        pause(subscription=self.subscription, until=self.cleaned_data["until"], now=self.now)


class ResumeForm(ManageForm):
    done = "resumed"

    def save(self) -> None:
        resume(subscription=self.subscription)


class SwitchForm(ManageForm):
    to = forms.ModelChoiceField(Subscribable.objects.all(), to_field_name="name")
    when = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if "to" not in data:
            raise forms.ValidationError(gettext("You can no longer change to that newsletter."))
        return data

    def save(self) -> None:
        to, at_once = self.cleaned_data["to"], self.cleaned_data["when"] == "now"
        button = gettext("Get this instead")
        origin = Origin(How.MANAGE, ip=self.ip, words=f"{button}: {to}. {rhythm(to)}.")
        change = switch(subscription=self.subscription, to=to, now=self.now, at_once=at_once, origin=origin)
        self.done = "changed" if at_once else "changing"
        # Must not reveal another subscription that the reader had before.
        if at_once and not change.was_there:
            self.subscription = change.new


class StayForm(ManageForm):
    done = "stays"

    def save(self) -> None:
        undo_switch(subscription=self.subscription, now=self.now)


def _own_name(code: str) -> str:
    try:
        return str(get_language_info(code)["name_local"]).capitalize()
    except KeyError:
        return code
