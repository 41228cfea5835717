"""DKIM keys."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from channels.email.dkim.keys import ED25519, RSA, DkimRecord, record_of
from common.secrets import SecretsField


class DkimKey(models.Model):
    """Key of a domain. The active one of each algorithm signs; others are waiting or retired."""

    class Algorithm(models.TextChoices):
        RSA = RSA, "RSA"
        ED25519 = ED25519, "Ed25519"

    domain = models.CharField(max_length=253)
    selector = models.CharField(max_length=100)
    algorithm = models.CharField(max_length=7, choices=Algorithm, default=Algorithm.RSA)
    # {"pem": the private key}. Leaves the database only to sign.
    private = SecretsField()
    # p= of the DNS record.
    public = models.TextField(editable=False)
    active = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("domain", "algorithm", "-active", "-pk")
        verbose_name = "DKIM key"
        constraints = (
            models.UniqueConstraint(name="dkim_key_identity", fields=["domain", "selector"]),
            models.UniqueConstraint(
                name="dkim_key_one_active", fields=["domain", "algorithm"], condition=Q(active=True)
            ),
            models.CheckConstraint(
                name="dkim_key_retired_is_not_active", condition=Q(active=False) | Q(retired_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.selector} of {self.domain}"

    @property
    def state(self) -> str:
        """Return "active", "waiting" (never used) or "retired"."""
        if self.active:
            return "active"
        return "retired" if self.retired_at else "waiting"

    @property
    def record(self) -> DkimRecord:
        return record_of(
            domain=self.domain, selector=self.selector, algorithm=self.algorithm, public=self.public
        )
