"""A person who reads here, and the programs that act for them."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Reader(models.Model):
    """One of Django's users who reads posts here. `slug` stands in their addresses."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reader")
    slug = models.SlugField(max_length=40, unique=True)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug


class Token(models.Model):
    """A key for a client. Only its digest is stored: whoever reads the database cannot use it."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="tokens")
    client = models.CharField(max_length=200, help_text="What uses it.")
    # Hex SHA-256 of the whole key, which is long and random.
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    # What `_source` of a post is: its feed's id, or (ekster's client takes nothing else) an object.
    source_as_object = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # To the minute.
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-made_at", "-pk")

    def __str__(self) -> str:
        return self.client
