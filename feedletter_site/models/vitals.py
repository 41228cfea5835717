from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class ApiToken(models.Model):
    """Valid while its maker has the permissions. Only a digest is stored."""

    name = models.CharField(max_length=100, help_text="What uses it, such as “shop” or “backup script”.")
    # Start of the key, for look-ups. `digest` is hex SHA-256.
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    scopes = models.JSONField(default=list)
    # Empty for tokens made by a command.
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
    name = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField()
    counted_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class FirstStep(models.Model):
    """A step that was dismissed, or whose completion is recorded nowhere else."""

    name = models.CharField(max_length=32, primary_key=True)
    is_done = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Stage(models.Model):
    """Last run and tick of a stage. Not cached."""

    name = models.CharField(max_length=64, primary_key=True)
    # A stage that never ran counts as late from here.
    since = models.DateTimeField(db_default=Now())
    ran_at = models.DateTimeField(null=True)
    ticked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Counted(models.Model):
    name = models.CharField(max_length=64)
    label = models.CharField(max_length=64, db_default="")
    count = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = (models.UniqueConstraint(name="counted_once", fields=["name", "label"]),)

    def __str__(self) -> str:
        return f"{self.name} {self.label}: {self.count}"
