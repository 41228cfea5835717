"""What a server is told in its log channel, and what its people decided."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chat.models.guild import Guild, GuildFeed


class ServerAlert(models.Model):
    """One message about one trouble, by its key. The nonce made of that keeps it from being posted twice."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        POSTED = "posted", "posted"
        FAILED = "failed", "could not be posted"

    class Decision(models.TextChoices):
        NEWEST = "newest", "send the newest three"
        ALL = "all", "send all"
        SKIP = "skip", "skip"

    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="alerts")
    guild_feed = models.ForeignKey(GuildFeed, on_delete=models.CASCADE, null=True, related_name="alerts")
    # held, failing, gone, refused or quota.
    trouble = models.CharField(max_length=10)
    key = models.CharField(max_length=100, unique=True)
    context = models.JSONField(default=dict)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(default=timezone.now)
    next_try_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")
    # channel/message
    remote_id = models.CharField(max_length=50, blank=True, default="")
    decision = models.CharField(max_length=6, choices=Decision, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    # What was decided was done.
    applied_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at",)
        verbose_name = "notice to a server"
        verbose_name_plural = "notices to servers"
        indexes = (
            models.Index(name="server_alert_due", fields=["next_try_at"], condition=Q(state="waiting")),
            models.Index(
                name="server_alert_open", fields=["created_at"], condition=Q(trouble="held", applied_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.trouble}: {self.guild_feed or self.guild}"
