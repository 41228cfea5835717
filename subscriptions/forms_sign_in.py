"""The form that asks for a sign-in link."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from common import kinds
from common.kinds import InvalidDestination


class SignInForm(forms.Form):
    """An address, and a field that only programs fill in."""

    email = forms.CharField(
        label=_("Your e-mail address"),
        max_length=320,
        error_messages={"required": _("Please type your e-mail address.")},
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
            kinds.get("email").parse_destination({"email": email})
        except InvalidDestination as error:
            said = _("This does not look like an e-mail address. Please check it.")
            raise forms.ValidationError(said) from error
        return email

    @property
    def is_trap_sprung(self) -> bool:
        """Whether the hidden field was filled in: people do not see it."""
        return bool(self.data.get("website"))
