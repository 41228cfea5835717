"""A link that lets somebody in, once."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from reader.models.reader import Reader


class Invitation(models.Model):
    """Only the digest of its key is stored: whoever reads the database cannot use it."""

    # Whom it is for, in the words of whoever invites; also the name that is offered to them.
    name = models.CharField("for", max_length=40, help_text="Such as ada: the name that is offered to them.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    # For the reader that it makes; null: as READER_MAX_FEEDS says.
    max_feeds = models.PositiveIntegerField(
        "feeds at most",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="How many feeds they may follow. Empty: as many as READER_MAX_FEEDS says.",
    )
    # Empty: made by a command.
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    expires_at = models.DateTimeField("expires")
    used_at = models.DateTimeField("used", null=True, blank=True, editable=False)
    # Whom it let in.
    reader = models.OneToOneField(
        Reader, on_delete=models.CASCADE, null=True, blank=True, related_name="invitation", editable=False
    )
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-made_at", "-pk")

    def __str__(self) -> str:
        return self.name
