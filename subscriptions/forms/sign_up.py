from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from subscriptions.forms.robots import RobotProofForm
from subscriptions.models import Subscribable
from subscriptions.rules.sign_up import LONGEST_NAME, MOST_AT_ONCE

LONGEST_PHONE = 40
LONGEST_CODE = 20
READ_BY = ("region", "countries")


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


class PhoneForm(SignUpForm):
    email = None  # type: ignore[assignment]
    name = None  # type: ignore[assignment]
    phone = forms.CharField(
        label=gettext_lazy("Your mobile number"),
        max_length=LONGEST_PHONE,
        error_messages={"required": gettext_lazy("Please type your mobile number.")},
        widget=forms.TextInput(
            attrs={
                "type": "tel",
                "autocomplete": "tel",
                "inputmode": "tel",
                "placeholder": "+49 1512 3456789",
            }
        ),
    )
    field_order = ("phone", "website", "reply")

    def clean_phone(self) -> str:
        typed: str = self.cleaned_data["phone"]
        try:
            self.parsed = read_number(self.subscribables[0].channel, typed, self.subscribables[0].options)
        except InvalidDestination as error:
            raise forms.ValidationError(str(error)) from error
        return typed

    @cached_property
    def parsed(self) -> ParsedDestination:
        raise AttributeError("The number was not read.")

    @property
    def note(self) -> str:
        return gettext(
            "You get a code by text message to confirm. Your provider may charge you for messages. Leave"
            " whenever you like: answer STOP."
        )


def read_number(channel: str, typed: str, options: Mapping[str, Any]) -> ParsedDestination:
    """Raises InvalidDestination."""
    read_by = {name: str(options[name]) for name in READ_BY if options.get(name)}
    return channels.get(channel).parse_destination({"phone": typed, **read_by})


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("The code"),
        max_length=LONGEST_CODE,
        error_messages={"required": gettext_lazy("Please enter the six digits.")},
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
