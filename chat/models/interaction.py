from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.db.leases import unleased
from common.secrets import SecretsField


class InteractionQuerySet(models.QuerySet["Interaction"]):
    def due(self, now: datetime) -> Self:
        return self.filter(unleased(now), state="waiting", next_try_at__lte=now)

    def since(self, moment: datetime) -> Self:
        return self.filter(created_at__gt=moment)


class Interaction(models.Model):
    """`id` is Discord's. Waiting rows are the queue."""

    class State(models.TextChoices):
        DONE = "done", "done"
        WAITING = "waiting", "waiting"

    id = models.BigIntegerField(primary_key=True)
    guild_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    act = models.CharField(max_length=20)
    state = models.CharField(max_length=7, choices=State, default=State.DONE)
    created_at = models.DateTimeField(default=timezone.now)
    # Deleted when done.
    request = models.JSONField(default=dict)
    found = models.JSONField(default=dict)
    # Once the work is done.
    answer = models.JSONField(null=True)
    # {"token"}: allows answering for us for 15 minutes.
    secrets = SecretsField()
    next_try_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    objects = InteractionQuerySet.as_manager()

    class Meta:
        ordering = ("created_at", "pk")
        indexes = (
            models.Index(name="interaction_due", fields=["next_try_at"], condition=Q(state="waiting")),
            models.Index(name="interaction_age", fields=["created_at"]),
        )

    def __str__(self) -> str:
        return f"{self.act} {self.pk}"
