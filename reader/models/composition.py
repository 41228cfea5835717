from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.db.leases import unleased
from reader.models.entry import Entry
from reader.models.reader import Reader


class CompositionQuerySet(models.QuerySet["Composition"]):
    def due(self, now: datetime) -> Self:
        return self.filter(unleased(now), due_at__lte=now)


class Composition(models.Model):
    """Post for a reader's site. Rows with a `due_at` are the queue.

    KEPT is a draft. WAITING: nothing was sent yet. SENDING: no response yet; if the worker dies, it becomes
    UNSURE. Then it is looked up on the site, and sent again only if a person says so. POSTED and REFUSED are
    the site's responses.
    """

    class State(models.TextChoices):
        KEPT = "kept", "kept"
        WAITING = "waiting", "waiting"
        SENDING = "sending", "sending"
        UNSURE = "unsure", "unsure"
        POSTED = "posted", "posted"
        REFUSED = "refused", "refused"

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="compositions", db_index=False)
    # Pressing twice makes one post.
    key = models.CharField(max_length=80)
    entry = models.ForeignKey(Entry, on_delete=models.SET_NULL, null=True, related_name="compositions")
    # A reader.rules.micropub.Said.
    said = models.JSONField()
    state = models.CharField(max_length=7, choices=State, default=State.KEPT)
    made_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    # "" if the site sent none.
    location = models.TextField(default="")
    # In the site's words if possible.
    problem = models.TextField(default="")
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    objects = CompositionQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="composition_once", fields=["reader", "key"]),)
        indexes = (
            models.Index(name="composition_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            models.Index(name="composition_newest", fields=["reader", "-made_at", "-id"]),
        )

    def __str__(self) -> str:
        return self.key

    def become(self, **changes: object) -> Self:
        """The row must be locked."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.save(update_fields=list(changes))
        return self


class Photo(models.Model):
    """We store its `data` until the site has it at `url`."""

    composition = models.ForeignKey(Composition, on_delete=models.CASCADE, related_name="photos")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    media_type = models.CharField(max_length=20)
    alt = models.CharField(max_length=2_000, blank=True, default="")
    data = models.BinaryField(default=b"")
    url = models.TextField(default="")

    class Meta:
        ordering = ("position", "pk")

    def __str__(self) -> str:
        return self.name
