from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.secrets import SecretsField
from reader.rules.identity import LONGEST_IDENTITY


class Reader(models.Model):
    class Picks(models.TextChoices):
        OFF = "off", "off"
        PRIVATE = "private", "private"
        PUBLIC = "public", "public"

    # `drop_reader` must run before the user is deleted: feeds count followers, and the admin's confirmation
    # page would list what somebody reads.
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reader")
    slug = models.SlugField(max_length=40, unique=True)
    # Their own site, confirmed at `verified_at`. Never one of ours.
    me = models.CharField(max_length=LONGEST_IDENTITY, blank=True, default="", db_default="")
    verified_at = models.DateTimeField(null=True, blank=True)
    # A reader.indieauth.discovery.Endpoints.
    endpoints = models.JSONField(default=dict, blank=True, db_default=models.Value({}, models.JSONField()))
    # Token, refresh_token, scope, ends_at.
    micropub = SecretsField(db_default="")
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # Rounded to hours for privacy.
    last_seen_at = models.DateTimeField("last seen", null=True, blank=True, editable=False)
    max_feeds = models.PositiveIntegerField(
        "maximum number of feeds",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Leave empty to use READER_MAX_FEEDS.",
    )
    # Counts withdrawals and restores, for streams.
    timeline_version = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Defaults of pages.
    unread_only = models.BooleanField(default=False, db_default=False)
    oldest_first = models.BooleanField(default=False, db_default=False)
    # Corrected posts become unread.
    corrected_unread = models.BooleanField(default=False, db_default=False)
    # The address has {url} and {title}.
    save_name = models.CharField(max_length=40, blank=True, default="", db_default="")
    save_template = models.CharField(max_length=500, blank=True, default="", db_default="")
    # Starred posts as a feed: those since it was opened, at an address with the key.
    picks = models.CharField(max_length=7, choices=Picks, default=Picks.OFF, db_default=Picks.OFF)
    picks_title = models.CharField(max_length=100, blank=True, default="", db_default="")
    picks_key = models.CharField(max_length=43, default="", db_default="", editable=False)
    picks_since = models.DateTimeField(null=True, editable=False)
    # Denies access at once; the prune stage erases the data.
    leaving_at = models.DateTimeField("leaving since", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("slug",)
        constraints = (models.UniqueConstraint(name="reader_me", fields=["me"], condition=~Q(me="")),)

    def __str__(self) -> str:
        return self.slug

    @property
    def has_picks(self) -> bool:
        return self.picks != self.Picks.OFF

    @property
    def full_name(self) -> str:
        return self.user.get_full_name() or self.slug


class Token(models.Model):
    """Made by hand or by IndieAuth. Only its digest is stored."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="tokens")
    client = models.CharField(max_length=200, help_text="The app that uses it.")
    # "" if made by hand.
    client_id = models.CharField(max_length=LONGEST_IDENTITY, blank=True, default="", db_default="")
    # Hex SHA-256 of the token, which is long and random.
    digest = models.CharField(max_length=64, unique=True, editable=False)
    # Current refresh token, and the previous one, whose reuse reveals a theft.
    refresh_digest = models.CharField(max_length=64, default="", db_default="", editable=False)
    spent_digest = models.CharField(max_length=64, default="", db_default="", editable=False)
    scopes = models.JSONField(default=list)
    # `_source` is a feed's id, or (ekster's client needs it) an object.
    source_as_object = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-made_at", "-pk")
        constraints = (
            models.UniqueConstraint(
                name="token_refresh", fields=["refresh_digest"], condition=~Q(refresh_digest="")
            ),
        )
        indexes = (models.Index(name="token_spent", fields=["spent_digest"], condition=~Q(spent_digest="")),)

    def __str__(self) -> str:
        return self.client


class Code(models.Model):
    """Authorization code. Only its digest is stored."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="codes")
    digest = models.CharField(max_length=64, unique=True)
    client = models.CharField(max_length=200)
    client_id = models.CharField(max_length=LONGEST_IDENTITY)
    redirect_uri = models.TextField()
    # S256 (RFC 7636).
    challenge = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # Revoked if the code is used again.
    token = models.OneToOneField(Token, on_delete=models.SET_NULL, null=True, related_name="code")

    class Meta:
        indexes = (models.Index(name="code_made", fields=["made_at"]),)

    def __str__(self) -> str:
        return f"for {self.client}"


class AppPassword(models.Model):
    """For one app. Only its digest is stored."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="app_passwords", db_index=False)
    app = models.CharField(max_length=100, help_text="The app that uses it.")
    # Hex SHA-256 of the password, which is random.
    digest = models.CharField(max_length=64, editable=False)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-made_at", "-pk")
        constraints = (models.UniqueConstraint(name="app_password_digest", fields=["reader", "digest"]),)

    def __str__(self) -> str:
        return self.app


class Invitation(models.Model):
    """Link for one person. Only its digest is stored."""

    # Also proposed as the reader's name.
    name = models.CharField("for", max_length=40, help_text="The suggested name, such as ada.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    max_feeds = models.PositiveIntegerField(
        "maximum number of feeds",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Leave empty to use READER_MAX_FEEDS.",
    )
    # Null: by a command.
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    expires_at = models.DateTimeField("expires")
    used_at = models.DateTimeField("used", null=True, blank=True, editable=False)
    # Who accepted it.
    reader = models.OneToOneField(
        Reader, on_delete=models.CASCADE, null=True, blank=True, related_name="invitation", editable=False
    )
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-made_at", "-pk")

    def __str__(self) -> str:
        return self.name
