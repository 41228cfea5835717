"""Shows in the admin what a service refused: at the form's field, or as a message."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from common.refused import Refused

REFUSALS = (ValidationError, Refused)
# To an admin who wants a test mail.
NO_ADDRESS = "Not sent: your user has no e-mail address. Set it under Users, then try again."


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
        field, text = getattr(error, "field", ""), str(error)
        # Channels name the field in front: "access_token: it is missing."
        first, colon, rest = text.partition(": ")
        if not field and colon and first in form.fields:
            field, text = first, rest[:1].upper() + rest[1:]
        form.add_error(field if field in form.fields else None, text)


def report(request: HttpRequest, act: Callable[[], str]) -> bool:
    """Runs an act and shows its sentence, if it has one; a refusal becomes a message too, and False."""
    try:
        said = act()
    except REFUSALS as error:
        messages.error(request, not_done(error))
        return False
    if said:
        messages.success(request, said)
    return True


def not_done(error: Exception) -> str:
    """A refusal as a message, which says first that nothing was done."""
    said = refusal_sentence(error)
    return said if said.startswith("Not ") else f"Not done. {said}"


def refusal_sentence(error: Exception) -> str:
    """A refusal as one text for people."""
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
