"""A person who reads here, and the programs that act for them."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.secrets import SecretsField
from reader.rules.identity import LONGEST_IDENTITY


class Reader(models.Model):
    """One of Django's users who reads posts here. `slug` stands in their addresses."""

    # Whoever deletes the user erases the reader first, by `drop_reader`: feeds count who follows them, and
    # the admin's page that says what goes along would list what somebody reads.
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reader")
    slug = models.SlugField(max_length=40, unique=True)
    # Their own site, which said so itself at `verified_at`; "" for none. Never one of ours.
    me = models.CharField(max_length=LONGEST_IDENTITY, blank=True, default="", db_default="")
    verified_at = models.DateTimeField(null=True, blank=True)
    # What that site named then, as reader.indieauth.discovery.Endpoints has it.
    endpoints = models.JSONField(default=dict, blank=True, db_default=models.Value({}, models.JSONField()))
    # The token with which to post there: token, refresh_token, scope, ends_at.
    micropub = SecretsField(db_default="")
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
    # Counts posts that were withdrawn or came back: streams announce that.
    timeline_version = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # How pages begin, unless their address says otherwise.
    unread_only = models.BooleanField(default=False, db_default=False)
    oldest_first = models.BooleanField(default=False, db_default=False)
    # A service that keeps posts for later: its name, and its address with {url} and {title}.
    save_name = models.CharField(max_length=40, blank=True, default="", db_default="")
    save_template = models.CharField(max_length=500, blank=True, default="", db_default="")
    # From then on nothing opens for them, and the prune stage erases what is theirs.
    leaving_at = models.DateTimeField("leaving since", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("slug",)
        constraints = (models.UniqueConstraint(name="reader_me", fields=["me"], condition=~Q(me="")),)

    def __str__(self) -> str:
        return self.slug

    @property
    def full_name(self) -> str:
        """What others call them."""
        return self.user.get_full_name() or self.slug


class Token(models.Model):
    """A key for a client: made by hand, or given by IndieAuth. Only its digest is stored: whoever reads the
    database cannot use it.
    """

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="tokens")
    client = models.CharField(max_length=200, help_text="What uses it.")
    # The address of a client that IndieAuth gave it to; "" for keys made by hand.
    client_id = models.CharField(max_length=LONGEST_IDENTITY, blank=True, default="", db_default="")
    # Hex SHA-256 of the whole key, which is long and random.
    digest = models.CharField(max_length=64, unique=True, editable=False)
    # Of the key that brings the next one, and of the one before: whoever shows that again is a thief.
    refresh_digest = models.CharField(max_length=64, default="", db_default="", editable=False)
    spent_digest = models.CharField(max_length=64, default="", db_default="", editable=False)
    scopes = models.JSONField(default=list)
    # What `_source` of a post is: its feed's id, or (ekster's client takes nothing else) an object.
    source_as_object = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField("made", default=timezone.now, editable=False)
    # To the minute.
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
    """What a client gets when a reader says yes, and exchanges once. Only its digest is stored."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="codes")
    digest = models.CharField(max_length=64, unique=True)
    client = models.CharField(max_length=200)
    client_id = models.CharField(max_length=LONGEST_IDENTITY)
    redirect_uri = models.TextField()
    # By S256 (RFC 7636).
    challenge = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # What it gave: if the code is shown again, that ends.
    token = models.OneToOneField(Token, on_delete=models.SET_NULL, null=True, related_name="code")

    class Meta:
        indexes = (models.Index(name="code_made", fields=["made_at"]),)

    def __str__(self) -> str:
        return f"for {self.client}"


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
