"""Parts of a feed's form: what lets us read it. Typed in, and never shown again."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from feeds.credentials import MAX_HEADER_NAME, MAX_VALUE, checked_credentials, kind_of
from feeds.models import Feed

FIELDS = ("user", "password", "header", "value", "forget")
INTRO = (
    "For a feed that is not open to everyone: a user name and password, or a header such as X-Api-Key."
    " They are kept encrypted and sent to the feed’s own host only."
)


def _secret(label: str, help_text: str = "") -> forms.CharField:
    widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}, render_value=False)
    return forms.CharField(
        label=label, required=False, max_length=MAX_VALUE, strip=False, help_text=help_text, widget=widget
    )


def _text(label: str, limit: int) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    return forms.CharField(label=label, required=False, max_length=limit, widget=widget)


class CredentialsForm(forms.Form):
    """To be mixed into a form of a feed, which is its `instance`."""

    user = _text("User name", MAX_VALUE)
    password = _secret("Password")
    header = _text("Header", MAX_HEADER_NAME)
    value = _secret("Value of the header")
    forget = forms.BooleanField(label="Forget what is stored", required=False, widget=UnfoldBooleanWidget())

    def credentials(self) -> dict[str, str] | None:
        """What was typed in; {} to forget what is stored, None to leave it. The form is valid."""
        given = {name: text for name in FIELDS[:4] if (text := self.cleaned_data.get(name))}
        return given or ({} if self.cleaned_data.get("forget") else None)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        given = self.credentials()
        if given and data.get("forget"):
            self.add_error("forget", "Leave this off, or leave the fields above empty.")
        if given and not self.errors:
            try:
                checked_credentials(given)
            except ValidationError as error:
                for name, messages in error.message_dict.items():
                    self.add_error(name if name in self.fields else "user", messages)
        return data


def intro(feed: Feed) -> str:
    """What stands above the fields."""
    stored = kind_of(feed)
    if not stored:
        return INTRO
    return f"{INTRO} Stored now: {stored}. What you type replaces it; empty fields leave it as it is."
