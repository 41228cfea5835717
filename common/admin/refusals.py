from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest

from common.refused import Refused

REFUSALS = (ValidationError, Refused)
NO_ADDRESS = "Not sent: your user has no email address. Set it under Users, then try again."


class RefusedForm(forms.BaseForm):
    refusal: Exception

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        add_refusal(self, self.refusal)


def add_refusal(form: forms.BaseForm, error: Exception) -> None:
    if isinstance(error, ValidationError) and hasattr(error, "error_dict"):
        for field, errors in error.error_dict.items():
            form.add_error(field if field in form.fields else None, errors)
    elif isinstance(error, ValidationError):
        form.add_error(None, error)
    else:
        field, text = getattr(error, "field", ""), str(error)
        # Channels put the field first: "access_token: it is missing."
        first, colon, rest = text.partition(": ")
        if not field and colon and first in form.fields:
            field, text = first, rest[:1].upper() + rest[1:]
        form.add_error(field if field in form.fields else None, text)


def report(request: HttpRequest, act: Callable[[], str]) -> bool:
    """Show the message or refusal; return whether it succeeded."""
    try:
        message = act()
    except REFUSALS as error:
        messages.error(request, not_done(error))
        return False
    if message:
        messages.success(request, message)
    return True


def not_done(error: Exception) -> str:
    message = refusal_sentence(error)
    return message if message.startswith("Not ") else f"Not done. {message}"


def refusal_sentence(error: Exception) -> str:
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)


def require(is_allowed: bool) -> None:
    if not is_allowed:
        raise PermissionDenied
