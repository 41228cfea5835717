from datetime import datetime
from typing import Any

from django.db import models
from django.utils import timezone

from common.ports.channels import ParsedDestination
from common.secrets import SecretsField


class AddressDomain(models.Func):
    """The part from the @. Without parameters: SQLite compares an index's expression literally."""

    template = "SUBSTR(%(expressions)s, INSTR(%(expressions)s, '@'))"
    output_field = models.CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "SUBSTR(%(expressions)s, STRPOS(%(expressions)s, '@'))"
        return self.as_sql(compiler, connection, template=template, **context)


class Destination(models.Model):
    """Address or account, unique by kind and normalized core."""

    kind = models.CharField(max_length=20)
    core = models.CharField(max_length=700)
    label = models.CharField(max_length=700, help_text="How people read it.")
    config = models.JSONField(default=dict, blank=True, editable=False)
    secrets = SecretsField()
    added_at = models.DateTimeField(default=timezone.now)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.TextField(blank=True, default="")
    # The row only counts what was sent.
    erased_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("pk",)
        verbose_name = "subscriber"
        constraints = (
            models.UniqueConstraint(
                name="destination_identity",
                fields=["kind", "core"],
                # On PostgreSQL, bytewise comparison supports prefixes and is faster than a collation.
                opclasses=["varchar_pattern_ops", "varchar_pattern_ops"],
            ),
        )
        indexes = (
            # For the few unreachable ones.
            models.Index(
                name="destination_disabled", fields=["id"], condition=models.Q(disabled_at__isnull=False)
            ),
            models.Index(AddressDomain("core"), name="destination_domain"),
        )

    def __str__(self) -> str:
        return self.label

    @property
    def suppression(self) -> "Suppression | None":
        return Suppression.objects.filter(kind=self.kind, core=self.core).first()

    @classmethod
    def at(cls, parsed: ParsedDestination, *, kind: str = "email", now: datetime) -> "Destination":
        """Return the row of an address. Adds it if it is new."""
        facts = {"label": parsed.label, "config": parsed.config, "added_at": now}
        return cls.objects.get_or_create(kind=kind, core=parsed.core, defaults=facts)[0]


class ErasureKey(models.Model):
    """Key of ErasedMarks, which they keep if SECRET_KEY changes."""

    secrets = SecretsField()

    def __str__(self) -> str:
        return f"key {self.pk}"


class ErasedMark(models.Model):
    """Keyed hash of an erased address, so that no list brings it back. See ErasureKey."""

    digest = models.CharField(max_length=32, unique=True, editable=False)

    def __str__(self) -> str:
        return self.digest


class Suppression(models.Model):
    """Address that gets no mail, with or without a Destination."""

    kind = models.CharField(max_length=20, default="email")
    core = models.CharField("address", max_length=700)
    reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created_at",)
        verbose_name = "address not to email"
        verbose_name_plural = "do not email"
        constraints = (models.UniqueConstraint(name="suppression_identity", fields=["kind", "core"]),)

    def __str__(self) -> str:
        return self.core


class SubscriberTag(models.Model):
    """Kept without people: a letter may be waiting for future ones."""

    name = models.CharField(max_length=100)
    # Casefolded name.
    key = models.CharField(max_length=300, unique=True, editable=False)
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("key",)
        verbose_name = "tag"
        verbose_name_plural = "tags"

    def __str__(self) -> str:
        return self.name


class Tagging(models.Model):
    tag = models.ForeignKey(SubscriberTag, on_delete=models.CASCADE, related_name="taggings", db_index=False)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="taggings")

    class Meta:
        constraints = (models.UniqueConstraint(name="tagging_once", fields=["tag", "destination"]),)

    def __str__(self) -> str:
        return f"{self.tag_id} of {self.destination_id}"


class AddressChange(models.Model):
    """Requested at the old address, confirmed at the new one, undone from the old one.

    Only digests of the links are stored. Each works once.
    """

    old = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="changes_away")
    new = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="changes_here")
    language = models.CharField(max_length=35, blank=True, default="")
    asked_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    confirm_digest = models.CharField(max_length=64, unique=True, editable=False)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    undo_digest = models.CharField(max_length=64, unique=True, null=True, blank=True, editable=False)
    undone_at = models.DateTimeField(null=True, blank=True)
    # Record for undoing it (subscriptions/subscribers/address_change.py).
    carried = models.JSONField(default=dict, editable=False)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.old_id} → {self.new_id}"


class SignInRequest(models.Model):
    """Request for a link, by a known or unknown address."""

    core = models.CharField(max_length=512)
    ip = models.CharField(max_length=64)
    language = models.CharField(max_length=35, blank=True)
    asked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"sign-in wish {self.pk}"


class SignIn(models.Model):
    """Mailed link, valid once. Only its digest is stored."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="sign_ins")
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in {self.pk} of {self.destination_id}"


class SignUpCode(models.Model):
    """Open code, derived from nonce and key (subscriptions.subscribers.notices)."""

    # The previous release, which has no codes, deletes destinations.
    destination = models.OneToOneField(
        Destination,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sign_up_code",
        db_constraint=False,
    )
    nonce = models.CharField(max_length=32)
    # Keys.
    subscriptions = models.JSONField(default=list)
    tries = models.PositiveSmallIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"for {self.destination_id}"
