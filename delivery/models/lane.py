"""A lane: the deliveries of one outgoing account, with its rate, concurrency, spacing and order."""

from django.db import models
from django.utils import timezone


class Lane(models.Model):
    """A token bucket in a row: every claim takes its tokens in the same transaction."""

    kind = models.CharField(max_length=20)
    account = models.CharField(max_length=700)
    serial = models.BooleanField(default=False, help_text="One at a time, in order.")
    concurrency = models.PositiveIntegerField(default=10, help_text="Connections open at once.")
    rate = models.FloatField(null=True, blank=True, help_text="Messages a second; empty: no limit.")
    burst = models.PositiveIntegerField(default=10, help_text="How many may go at once after a rest.")
    spacing_seconds = models.FloatField(default=0, help_text="Pause after each message.")
    paused = models.BooleanField(default=False)
    paused_reason = models.TextField(blank=True, default="")
    tokens = models.FloatField(default=0, editable=False)
    refilled_at = models.DateTimeField(default=timezone.now, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    free_at = models.DateTimeField("rests until", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("kind", "account")
        constraints = (models.UniqueConstraint(name="lane_identity", fields=["kind", "account"]),)

    def __str__(self) -> str:
        return f"{self.kind}: {self.account}"
