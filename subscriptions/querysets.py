"""The words in which the rest of the program asks for newsletters, collections and subscribers."""

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from subscriptions.models import Assignable, Subscribable, Subscription  # noqa: F401 - named in strings below


class SubscribableQuerySet(models.QuerySet["Subscribable"]):
    def listed(self) -> Self:
        """What the public list shows."""
        return self.filter(visibility="public", stopped=False)

    def with_pages(self) -> Self:
        """What has pages at all: everything but the private."""
        return self.exclude(visibility="private")


class AssignableQuerySet(models.QuerySet["Assignable"]):
    def due(self, now: datetime) -> Self:
        """Collections worth a look: not sealed by a live worker, not backing off."""
        return self.filter(Q(seal_token=None) | Q(seal_until__lt=now)).filter(next_try_at__lte=now)


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def confirmed(self) -> Self:
        return self.filter(status="confirmed")

    def reachable(self) -> Self:
        """Confirmed, and the destination not disabled."""
        return self.confirmed().filter(destination__disabled_at=None)
