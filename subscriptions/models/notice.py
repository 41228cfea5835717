"""What this app wants mailed to one person. The delivery app turns each row into a Delivery."""

from django.db import models
from django.utils import timezone

from subscriptions.models.destination import Destination
from subscriptions.models.subscription import Subscription


class Notice(models.Model):
    """A wish for one mail, at most one for each (kind, key). Taken and deleted in one transaction."""

    class Kind(models.TextChoices):
        CONFIRMATION = "confirmation"
        WELCOME = "welcome"
        SIGN_IN = "sign_in"
        FAREWELL = "farewell"

    kind = models.CharField(max_length=12, choices=Kind)
    key = models.CharField(max_length=128)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, null=True, blank=True)
    template = models.CharField(max_length=64)
    language = models.CharField(max_length=35, blank=True, default="")
    context = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(name="notice_once", fields=["kind", "key"]),)

    def __str__(self) -> str:
        return f"{self.kind} to {self.destination_id}"
