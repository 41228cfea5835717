"""What people asked the bot: each once, and what is still to be done of it."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.db.leases import unleased
from common.secrets import SecretsField


class InteractionQuerySet(models.QuerySet["Interaction"]):
    def due(self, now: datetime) -> Self:
        """Those that wait for a worker."""
        return self.filter(unleased(now), state="waiting", next_try_at__lte=now)

    def since(self, moment: datetime) -> Self:
        return self.filter(created_at__gt=moment)


class Interaction(models.Model):
    """By its id at Discord. Rows that wait are the queue; those that are done count for limits, a while."""

    class State(models.TextChoices):
        DONE = "done", "done"
        WAITING = "waiting", "waiting"

    id = models.BigIntegerField(primary_key=True)
    guild_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    # The command or button, such as add.
    act = models.CharField(max_length=20)
    state = models.CharField(max_length=7, choices=State, default=State.DONE)
    created_at = models.DateTimeField(default=timezone.now)
    # What Discord sent, and what the work found out; forgotten when it is done.
    request = models.JSONField(default=dict)
    found = models.JSONField(default=dict)
    # The message that answers it, once the work is done.
    answer = models.JSONField(null=True)
    # {"token"}: whoever has it may speak for us in the conversation, for a quarter of an hour.
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
            models.Index(name="interaction_guild", fields=["guild_id", "act", "created_at"]),
            models.Index(name="interaction_user", fields=["user_id", "created_at"]),
            models.Index(name="interaction_age", fields=["created_at"]),
        )

    def __str__(self) -> str:
        return f"{self.act} {self.pk}"
