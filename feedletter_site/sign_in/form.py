"""The form of the admin's sign-in."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from feedletter_site.services.password_limits import TOO_MANY, tries_left


class LimitedSignInForm(AuthenticationForm):  # type: ignore[misc]
    """Checks no password after too many wrong ones: then even the right one has to wait."""

    def clean(self) -> Any:
        if not tries_left(self.request, self.cleaned_data.get("username") or ""):
            raise ValidationError(TOO_MANY, code="limited")
        return super().clean()
