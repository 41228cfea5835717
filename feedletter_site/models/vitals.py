"""The service's signs of life: when each stage ran last, and how often things happened."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class ApiToken(models.Model):
    """Good for its scopes until it expires or is revoked, and as long as its maker may do the same."""

    name = models.CharField(max_length=100, help_text="What uses it, such as “shop” or “backup script”.")
    # The beginning of the key, by which it is found; the rest is known as a digest (hex SHA-256) only.
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    scopes = models.JSONField(default=list)
    # Empty: made by a command.
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens"
    )
    created_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # To the minute.
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    expires_at = models.DateTimeField("expires", null=True, blank=True)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-created_at", "-pk")
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name


class Figure(models.Model):
    """Figures that took long to count. Workers count them again every few minutes."""

    name = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField()
    counted_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class FirstStep(models.Model):
    """A step of the checklist that somebody has put aside, or that is done and shows nowhere else."""

    name = models.CharField(max_length=32, primary_key=True)
    is_done = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Stage(models.Model):
    """A stage, as workers and beat saw it last. Stored every few seconds, and not in the cache."""

    name = models.CharField(max_length=64, primary_key=True)
    # When the row was made. A stage that never ran is late from here on.
    since = models.DateTimeField(db_default=Now())
    ran_at = models.DateTimeField(null=True)
    ticked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Counted(models.Model):
    """How often something happened since the database was made. Only grows."""

    name = models.CharField(max_length=64)
    label = models.CharField(max_length=64, db_default="")
    count = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = (models.UniqueConstraint(name="counted_once", fields=["name", "label"]),)

    def __str__(self) -> str:
        return f"{self.name} {self.label}: {self.count}"
