"""A person who reads here, and the programs that act for them."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone


class Reader(models.Model):
    """One of Django's users who reads posts here. `slug` stands in their addresses."""

    # Whoever deletes the user erases the reader first, by `drop_reader`: feeds count who follows them, and
    # the admin's page that says what goes along would list what somebody reads.
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reader")
    slug = models.SlugField(max_length=40, unique=True)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # To the hour, so that it says whether somebody reads here and not when.
    last_seen_at = models.DateTimeField("last seen", null=True, blank=True, editable=False)
    # How many feeds they may follow; null: as READER_MAX_FEEDS says.
    max_feeds = models.PositiveIntegerField(
        "feeds at most",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="How many feeds they may follow. Empty: as many as READER_MAX_FEEDS says.",
    )
    # From then on nothing opens for them, and the prune stage erases what is theirs.
    leaving_at = models.DateTimeField("leaving since", null=True, blank=True, editable=False)

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
