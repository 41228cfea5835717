from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from common.ports import channels
from common.ports.channels import InvalidDestination
from subscriptions.forms.robots import RobotProofForm
from subscriptions.models import Subscribable
from subscriptions.rules.sign_up import LONGEST_NAME, MOST_AT_ONCE


class SignUpForm(RobotProofForm):
    email = forms.CharField(
        label=gettext_lazy("Your email address"),
        max_length=320,
        error_messages={"required": gettext_lazy("Please type your email address.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email", "placeholder": "you@example.org"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    field_order: Sequence[str] = ("email", "name", "website", "reply")

    def __init__(self, *args: Any, subscribables: Sequence[Subscribable], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.subscribables = subscribables

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            channels.get(self.channel).parse_destination({"email": email})
        except InvalidDestination as error:
            message = gettext("This does not look like an email address. Please check it.")
            raise forms.ValidationError(message) from error
        return email

    @property
    def channel(self) -> str:
        return self.subscribables[0].channel if self.subscribables else "email"

    @property
    def challenge(self) -> bool:
        return any(each.challenge for each in self.subscribables)

    @property
    def consent(self) -> str:
        """Exact text to which the reader agrees."""
        return f"{self.button}. {self.note}"

    @property
    def button(self) -> str:
        if len(self.subscribables) == 1:
            return gettext("Subscribe to %(newsletter)s") % {"newsletter": self.subscribables[0]}
        return gettext("Subscribe")

    @property
    def note(self) -> str:
        return gettext("We’ll email you a link to confirm. You can unsubscribe at any time with one tap.")


class NameForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class SeveralForm(SignUpForm):
    def clean(self) -> dict[str, Any]:
        if not self.subscribables:
            self.add_error(None, gettext("Choose at least one newsletter."))
        elif len(self.subscribables) > MOST_AT_ONCE:
            self.add_error(
                None, gettext("Choose at most %(most)s newsletters at a time.") % {"most": MOST_AT_ONCE}
            )
        return super().clean()

    @property
    def button(self) -> str:
        return gettext("Subscribe")
