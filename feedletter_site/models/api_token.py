"""A key for a program. Only its digest is stored: whoever reads the database cannot use it."""

from django.conf import settings
from django.db import models
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
