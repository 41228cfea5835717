"""What readers write for their own sites: kept before any of it is sent, and what became of it."""

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
        """Those that are to be sent, or looked up."""
        return self.filter(unleased(now), due_at__lte=now)


class Composition(models.Model):
    """A post for a reader's own site. Rows with a `due_at` are the queue.

    KEPT is not to be sent yet. WAITING has been handed over, and nothing of it was sent. SENDING is between
    the request and its answer: a worker that dies then leaves it UNSURE. That is looked up on the site, and
    never sent again but by a person's word. POSTED and REFUSED are the site's answers.
    """

    class State(models.TextChoices):
        KEPT = "kept", "kept"
        WAITING = "waiting", "waiting"
        SENDING = "sending", "sending"
        UNSURE = "unsure", "unsure"
        POSTED = "posted", "posted"
        REFUSED = "refused", "refused"

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="compositions", db_index=False)
    # Of the form, or of the button: whoever presses it twice has one post.
    key = models.CharField(max_length=80)
    # The post that it answers, if it stands here.
    entry = models.ForeignKey(Entry, on_delete=models.SET_NULL, null=True, related_name="compositions")
    # As reader.rules.micropub.Said has them.
    said = models.JSONField()
    state = models.CharField(max_length=7, choices=State, default=State.KEPT)
    made_at = models.DateTimeField(default=timezone.now)
    # When it is sent, or looked up; null: nothing is to be done.
    due_at = models.DateTimeField(null=True)
    # When it was sent last.
    asked_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    # Where it went; "" where the site did not say.
    location = models.TextField(default="")
    # What went wrong, in the site's own words where it has any.
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
        """Sets these fields, and saves them alone. The row is locked."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.save(update_fields=list(changes))
        return self


class Photo(models.Model):
    """A picture of a composition. `url` is where the site keeps it; until then we have its `data`."""

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
