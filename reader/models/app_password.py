"""What apps sign in with that ask for a name and a password."""

from django.db import models
from django.utils import timezone

from reader.models.reader import Reader


class AppPassword(models.Model):
    """A password for one app. Only its digest is stored: whoever reads the database cannot use it."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="app_passwords", db_index=False)
    app = models.CharField(max_length=100, help_text="What uses it.")
    # Hex SHA-256 of the password as reader.people.app_passwords spells it, which is random.
    digest = models.CharField(max_length=64, editable=False)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # To the minute.
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-made_at", "-pk")
        constraints = (models.UniqueConstraint(name="app_password_digest", fields=["reader", "digest"]),)

    def __str__(self) -> str:
        return self.app
