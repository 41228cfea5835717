"""What of a newsletter only this app can check when it is saved: its template and its sender."""

from django.core.exceptions import ValidationError

from common.kinds import InvalidDestination
from delivery.channels.email.address import parse_sender
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


def refuse_wrong_sender(subscribable: Subscribable) -> None:
    """Raises ValidationError for a From or Reply-To that is no e-mail address. Empty ones are fine."""
    wrong = {}
    for field in ("from_email", "reply_to"):
        try:
            if text := getattr(subscribable, field):
                parse_sender(text)
        except InvalidDestination as error:
            wrong[field] = str(error)
    if wrong:
        raise ValidationError(wrong)
