"""The forms readers fill in."""

from typing import Any

from django import forms

from common import kinds
from common.kinds import InvalidDestination
from subscriptions.models import Subscribable
from subscriptions.rules.sign_up import LONGEST_NAME


class SignUpForm(forms.Form):
    """An address, perhaps a name, and a field that only programs fill in."""

    email = forms.CharField(
        label="Your e-mail address",
        max_length=320,
        error_messages={"required": "Please type your e-mail address."},
        widget=forms.EmailInput(attrs={"autocomplete": "email", "placeholder": "you@example.org"}),
    )
    name = forms.CharField(
        label="Your name",
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    website = forms.CharField(
        label="Leave this empty",
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "tabindex": "-1"}),
    )

    def __init__(self, *args: Any, subscribable: Subscribable, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.subscribable = subscribable

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            kinds.get(self.subscribable.channel).parse_destination({"email": email})
        except InvalidDestination as error:
            raise forms.ValidationError(str(error)) from error
        return email

    @property
    def is_trap_sprung(self) -> bool:
        """Whether the hidden field was filled in: people do not see it."""
        return bool(self.data.get("website"))


class NameForm(forms.Form):
    """How letters address a subscriber."""

    name = forms.CharField(
        label="Your name",
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
