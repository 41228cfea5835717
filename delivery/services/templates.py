"""A newsletter's template is checked when the newsletter is saved."""

from django.core.exceptions import ValidationError

from delivery.rendering.engine import check_template
from delivery.rendering.rendered import LetterError
from subscriptions.models import Subscribable


def refuse_wrong_template(subscribable: Subscribable) -> None:
    """Raises ValidationError for a template that is not there or asks for a field that is not."""
    if not subscribable.template:
        return
    try:
        check_template(subscribable.template, subscribable.params)
    except LetterError as error:
        raise ValidationError({"template": str(error)}) from error
