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

    def named(self, *names: str) -> Self:
        """Those of these names, whatever strangers sent for a name (PostgreSQL takes no NUL)."""
        return self.filter(name__in=[name for name in names if "\0" not in name])

    def siblings_of(self, newsletter: "Subscribable") -> Self:
        """The others over exactly the same feeds that travel the same way."""
        feeds = list(newsletter.feeds.values_list("pk", flat=True))
        theirs = models.Count("feeds", distinct=True)
        shared = models.Count("feeds", distinct=True, filter=Q(feeds__in=feeds))
        others = self.filter(channel=newsletter.channel).exclude(pk=newsletter.pk)
        return others.annotate(theirs=theirs, shared=shared).filter(theirs=len(feeds), shared=len(feeds))


class AssignableQuerySet(models.QuerySet["Assignable"]):
    def due(self, now: datetime) -> Self:
        """Collections worth a look: not sealed by a live worker, not backing off."""
        return self.filter(Q(seal_token=None) | Q(seal_until__lt=now)).filter(next_try_at__lte=now)


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def confirmed(self) -> Self:
        """Without those that a switch has ended, whose last letters are still on their way."""
        return self.filter(status="confirmed", ended_at=None)

    def reachable(self) -> Self:
        """Confirmed, and the destination not disabled."""
        return self.confirmed().filter(destination__disabled_at=None)
