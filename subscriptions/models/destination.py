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
