"""New passwords, typed once."""

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext


class TypedOnce:
    """Leaves out the second field of a form of Django. It comes first among the bases.

    Templates load feedletter/password.js, which adds a button that shows what is typed.
    """

    fields: dict[str, Any]
    shows_password = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in list(self.fields):
            if name.endswith("password1"):
                self.fields[name].widget.attrs["data-show"] = gettext("Show")
            elif name.endswith("password2"):
                del self.fields[name]

    def validate_passwords(self, *names: str) -> None:
        """There is no second one to compare it with."""

    def validate_password_for_user(
        self,
        user: AbstractBaseUser,
        password_field_name: str = "password2",  # noqa: S107 - of a field
    ) -> None:
        first = password_field_name.replace("2", "1")
        super().validate_password_for_user(user, first)  # type: ignore[misc]


class NewPasswordForm(TypedOnce, SetPasswordForm):  # type: ignore[type-arg]
    pass


class ChangePasswordForm(TypedOnce, PasswordChangeForm):
    pass
