from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from subscriptions.forms.sign_up import SignUpForm

LONGEST_PHONE = 40
LONGEST_CODE = 20
READ_BY = ("region", "countries")


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
