from django.conf import settings
from django.db import models
from django.utils.functional import cached_property

from subscriptions.models import Subscribable


class Member(models.Model):
    """Role of a user, who is invited until `digest` is used. Without a row, only permissions count."""

    class Role(models.TextChoices):
        EDITOR = "editor", "Editor"
        SENDER = "sender", "Sender"

    # No constraints: the previous release deletes users and newsletters without knowing members.
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, db_constraint=False
    )
    role = models.CharField(max_length=10, choices=Role.choices, blank=True, default="")
    # Without newsletters, a limited member sees none.
    is_limited = models.BooleanField(default=False)
    newsletters = models.ManyToManyField(Subscribable, blank=True, related_name="+", db_constraint=False)
    # Hex SHA-256 of the invitation's key, or "".
    digest = models.CharField(max_length=64, blank=True, default="")
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.user)

    @cached_property
    def newsletter_keys(self) -> frozenset[int]:
        return frozenset(self.newsletters.values_list("pk", flat=True))
