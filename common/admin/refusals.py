"""Shows in the admin what a service refused: at the form's field, or as a message."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from common.ports.channels import InvalidDestination
from common.ports.panels import CannotAct

REFUSALS = (ValidationError, InvalidDestination, CannotAct)


class RefusedForm(forms.BaseForm):
    """A form that was valid in itself, with the error of the service that refused it."""

    refusal: Exception

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        add_refusal(self, self.refusal)


def add_refusal(form: forms.BaseForm, error: Exception) -> None:
    """Puts an error at the field it names, or above the form when there is no such field."""
    if isinstance(error, ValidationError) and hasattr(error, "error_dict"):
        for field, errors in error.error_dict.items():
            form.add_error(field if field in form.fields else None, errors)
    elif isinstance(error, ValidationError):
        form.add_error(None, error)
    else:
        # Channels name the field in front: "access_token: it is missing."
        field, colon, text = str(error).partition(": ")
        named = bool(colon) and field in form.fields
        form.add_error(field if named else None, text[:1].upper() + text[1:] if named else str(error))


def report(request: HttpRequest, act: Callable[[], str]) -> bool:
    """Runs an act and shows its sentence, if it has one; a refusal becomes a message too, and False."""
    try:
        said = act()
    except REFUSALS as error:
        messages.error(request, refusal_sentence(error))
        return False
    if said:
        messages.success(request, said)
    return True


def refusal_sentence(error: Exception) -> str:
    """A refusal as one text for people."""
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
