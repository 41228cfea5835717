"""The proof that somebody agreed."""

from django.db import models
from django.utils import timezone

from subscriptions.models.subscription import Subscription


class Consent(models.Model):
    """One act of consent: when, how, and the very text that was shown. Kept as long as the subscription."""

    class Act(models.TextChoices):
        ASKED = "asked", "asked for it"
        CONFIRMED = "confirmed", "confirmed"
        IMPORTED = "imported", "taken over from a list"
        ADDED = "added", "added by an admin"
        SWITCHED = "switched", "switched from another newsletter"

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="consents")
    act = models.CharField(max_length=9, choices=Act)
    at = models.DateTimeField(default=timezone.now)
    how = models.CharField(max_length=10, blank=True, default="")
    words = models.TextField(blank=True, default="")
    # Only where the newsletter keeps it (Subscribable.keep_ip).
    ip = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.subscription_id}: {self.act}"
