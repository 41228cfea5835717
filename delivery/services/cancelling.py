"""Cancelling one delivery by hand."""

from common.panels import CannotAct
from delivery.models import Delivery
from delivery.querysets import WAITING

BY_HAND = "Cancelled by hand."


def cancel_delivery(*, delivery: Delivery) -> None:
    """It never goes, unless it is tried again. A second time changes nothing. Raises CannotAct."""
    cancelled, held = Delivery.State.CANCELLED, Delivery.State.HELD
    waiting = Delivery.objects.filter(pk=delivery.pk, state__in=(*WAITING, held))
    if waiting.update(state=cancelled, held_for="", last_error=BY_HAND):
        return
    state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
    if state != cancelled:
        raise CannotAct(f"Delivery {delivery.pk} is {state}: there is nothing to cancel.")
