"""The forms of those who come to read here, and of their accounts."""

from typing import Any

from django import forms
from django.contrib.auth.forms import SetPasswordMixin
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy

from reader.people.readers import LONGEST_SLUG


class NameForm(forms.Form):
    """What a reader is called here."""

    name = forms.SlugField(
        label=gettext_lazy("Your name here"),
        help_text=gettext_lazy("small letters, digits and hyphens; it stands in addresses"),
        max_length=LONGEST_SLUG,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).lower()


class NewcomerForm(SetPasswordMixin, NameForm):  # type: ignore[type-arg]
    """A name, a password that Django's validators accept, and where to send a link if it is forgotten."""

    email = forms.EmailField(
        label=gettext_lazy("Your e-mail address"),
        help_text=gettext_lazy("if you like: without one nobody can help when you forget your password"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password1, password2 = SetPasswordMixin.create_password_fields()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self.validate_passwords()
        user = User(username=data.get("name", ""), email=data.get("email", ""))
        self.validate_password_for_user(user)
        return data


class EmailForm(forms.Form):
    """Another address, by whoever knows the password: who has the address can choose another one."""

    email = forms.EmailField(
        label=gettext_lazy("Your e-mail address"),
        help_text=gettext_lazy("a link comes there when you forget your password; empty: none"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.user = user
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        if not self.user.check_password(password):
            raise forms.ValidationError(gettext("This is not your password."))
        return password


class ErasureForm(EmailForm):
    """That somebody means it, who knows the password."""

    email = None  # type: ignore[assignment]
    sure = forms.BooleanField(label=gettext_lazy("Yes, erase it all, for ever"))
