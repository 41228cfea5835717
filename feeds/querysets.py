"""The words in which the rest of the program asks for feeds and items."""

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from feeds.models import Feed, Item  # noqa: F401 - named in strings below

# The words of `Feed.health`.
HEALTH = ("active", "failing", "held", "paused", "stopped")


class FeedQuerySet(models.QuerySet["Feed"]):
    def watched(self) -> Self:
        """Feeds that are polled at all: not paused and not stopped."""
        return self.filter(status="active")

    def in_health(self, word: str) -> Self:
        """Feeds of which `Feed.health` says this word."""
        match word:
            case "failing":
                return self.watched().filter(failures__gt=0)
            case "held":
                return self.watched().filter(failures=0, held_since__isnull=False)
            case "active":
                return self.watched().filter(failures=0, held_since=None)
            case _:
                return self.filter(status=word)

    def unleased(self, now: datetime) -> Self:
        return self.filter(Q(lease_token=None) | Q(lease_until__lt=now))

    def due(self, now: datetime) -> Self:
        return self.watched().unleased(now).filter(next_poll_at__lte=now)


class ItemQuerySet(models.QuerySet["Item"]):
    def held(self) -> Self:
        """Waiting for an admin's word."""
        return self.unassigned().filter(held_at__isnull=False)

    def settling(self) -> Self:
        """Waiting to become final at some reading to come."""
        return self.unassigned().filter(held_at=None, final_at=None)

    def unassigned(self) -> Self:
        return self.filter(state="unassigned", vanished_at=None)

    def final(self) -> Self:
        """Settled, and waiting for the assign stage."""
        return self.unassigned().filter(held_at=None, final_at__isnull=False)
