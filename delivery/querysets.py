"""The words in which the rest of the program asks the ledger."""

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db import models

if TYPE_CHECKING:
    from delivery.models import Delivery  # noqa: F401 - named in strings below

WAITING = ("queued", "deferred")
UNFINISHED = (*WAITING, "sending")


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> Self:
        return self.filter(state__in=WAITING)

    def due(self, now: datetime) -> Self:
        return self.waiting().filter(due_at__lte=now)

    def expired(self, now: datetime) -> Self:
        """Being sent by someone whose lease ran out."""
        return self.filter(state="sending", lease_until__lt=now)

    def counts(self) -> dict[str, int]:
        """How many in each state."""
        return dict(self.order_by().values_list("state").annotate(count=models.Count("pk")))
