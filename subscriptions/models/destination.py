"""Where things are sent, and where nothing may be sent."""

from django.db import models
from django.utils import timezone

from common.secrets import SecretsField


class Destination(models.Model):
    """One address or account, unique by its normalised core within its kind."""

    kind = models.CharField(max_length=20)
    core = models.CharField(max_length=700)
    label = models.CharField(max_length=700, help_text="How people read it.")
    config = models.JSONField(default=dict, blank=True, editable=False)
    secrets = SecretsField()
    added_at = models.DateTimeField(default=timezone.now)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.TextField(blank=True, default="")
    # Since then it stands for nobody. What was sent to its person is still counted, once for each issue.
    erased_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("pk",)
        verbose_name = "subscriber"
        constraints = (
            models.UniqueConstraint(
                name="destination_identity",
                fields=["kind", "core"],
                # On PostgreSQL: compared byte by byte, which finds beginnings, and faster than by a language.
                opclasses=["varchar_pattern_ops", "varchar_pattern_ops"],
            ),
        )
        indexes = (
            # The list of people shows whom nothing reaches any more: a few of very many.
            models.Index(
                name="destination_disabled", fields=["id"], condition=models.Q(disabled_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return self.label


class ErasedMark(models.Model):
    """Mark of an address whose data was erased here, so that no list brings it back.

    `digest` is made with SECRET_KEY. It tells nobody the address, and is found only by those who have it.
    """

    digest = models.CharField(max_length=32, unique=True, editable=False)

    def __str__(self) -> str:
        return self.digest


class Suppression(models.Model):
    """A destination that must not be written to, whether or not it is known as one."""

    kind = models.CharField(max_length=20, default="email")
    core = models.CharField("address", max_length=700)
    reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-created_at",)
        verbose_name = "address not to write to"
        verbose_name_plural = "do not write"
        constraints = (models.UniqueConstraint(name="suppression_identity", fields=["kind", "core"]),)

    def __str__(self) -> str:
        return self.core


class SubscriberTag(models.Model):
    """A tag of people. It stays when nobody has it any more: a letter may be waiting for those who will."""

    name = models.CharField(max_length=100)
    # The name as it is compared, whatever its capitals.
    key = models.CharField(max_length=300, unique=True, editable=False)
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("key",)
        verbose_name = "tag of subscribers"
        verbose_name_plural = "tags of subscribers"

    def __str__(self) -> str:
        return self.name


class Tagging(models.Model):
    """That somebody has a tag."""

    tag = models.ForeignKey(SubscriberTag, on_delete=models.CASCADE, related_name="taggings", db_index=False)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="taggings")

    class Meta:
        constraints = (models.UniqueConstraint(name="tagging_once", fields=["tag", "destination"]),)

    def __str__(self) -> str:
        return f"{self.tag_id} of {self.destination_id}"


class AddressChange(models.Model):
    """Asked for at the old address, confirmed at the new one, and undone from the old one if need be.

    Of the two links only digests are kept. Each works once.
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
    # What it did, so that it can be undone: see subscriptions/subscribers/address_change.py.
    carried = models.JSONField(default=dict, editable=False)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.old_id} → {self.new_id}"


class SignInRequest(models.Model):
    """Somebody asked for a link for this address, known or not. A worker looks, and deletes the wish."""

    core = models.CharField(max_length=512)
    # Who asked, as limits count them (subscriptions.rules.limits).
    network = models.CharField(max_length=64)
    language = models.CharField(max_length=35, blank=True)
    asked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"sign-in wish {self.pk}"


class SignIn(models.Model):
    """A link that was mailed: good once, for a short while. Of the link itself only a digest is kept."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="sign_ins")
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in {self.pk} of {self.destination_id}"


class SignUpCode(models.Model):
    """The one that is open for a destination. The code itself stands nowhere: it is made of the nonce and our
    key (subscriptions.subscribers.codes)."""

    # Without a constraint: the release before knows no codes, and deletes destinations.
    destination = models.OneToOneField(
        Destination,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sign_up_code",
        db_constraint=False,
    )
    nonce = models.CharField(max_length=32)
    # Keys of the subscriptions that it confirms.
    subscriptions = models.JSONField(default=list)
    tries = models.PositiveSmallIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"for {self.destination_id}"
