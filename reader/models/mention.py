"""What other pages say of a reader's own: one row for each page and what it links to."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.db.leases import unleased
from reader.models.entry import Entry
from reader.models.reader import Reader


class MentionQuerySet(models.QuerySet["Mention"]):
    def due(self, now: datetime) -> Self:
        """Those whose source has to be looked at."""
        return self.filter(unleased(now), due_at__lte=now)


class Mention(models.Model):
    """A webmention (www.w3.org/TR/webmention). Rows with a `due_at` are the queue."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="mentions", db_index=False)
    source = models.TextField()
    target = models.TextField()
    # Hex SHA-256 of both addresses, as they are compared.
    pair = models.CharField(max_length=64)
    # What the notifications show of it; null while the source was never found to link to the target.
    entry = models.OneToOneField(Entry, on_delete=models.SET_NULL, null=True, related_name="mention")
    received_at = models.DateTimeField(default=timezone.now)
    # When the source is looked at next; null: not until somebody says that it changed.
    due_at = models.DateTimeField(null=True, default=timezone.now)
    checked_at = models.DateTimeField(null=True)
    # Looks in a row at a server that did not answer.
    attempts = models.PositiveIntegerField(default=0)
    # Why it is not shown, for the log and for whoever asks.
    problem = models.TextField(default="")
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    objects = MentionQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="mention_once", fields=["reader", "pair"]),)
        indexes = (
            models.Index(name="mention_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            models.Index(name="mention_refused", fields=["checked_at"], condition=Q(entry=None)),
        )

    def __str__(self) -> str:
        return f"{self.source} about {self.target}"
