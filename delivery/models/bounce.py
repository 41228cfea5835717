"""Kept messages, and one row per bounce or complaint."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from delivery.models.delivery import Delivery
from subscriptions.models import Destination


class MailboxMessage(models.Model):
    """The message exactly as it would have been sent."""

    delivery = models.OneToOneField(Delivery, on_delete=models.CASCADE, related_name="kept_message")
    recipient = models.CharField(max_length=320)
    subject = models.TextField(blank=True, default="")
    stored_at = models.DateTimeField(default=timezone.now)
    raw = models.BinaryField()

    class Meta:
        ordering = ("-stored_at", "-pk")

    def __str__(self) -> str:
        return self.subject


class Bounce(models.Model):
    """Report. Has a delivery, and effects, only if it proved which delivery it concerns."""

    class Kind(models.TextChoices):
        COMPLAINT = "complaint"
        HARD = "hard", "does not exist"
        SOFT = "soft", "not now"
        POLICY = "policy", "not from us"
        DELAYED = "delayed"
        UNKNOWN = "unknown"

    delivery = models.ForeignKey(
        Delivery, on_delete=models.SET_NULL, null=True, blank=True, related_name="bounces"
    )
    destination = models.ForeignKey(
        Destination, on_delete=models.CASCADE, null=True, blank=True, related_name="bounces"
    )
    domain = models.CharField(max_length=255, blank=True, default="")
    kind = models.CharField(max_length=12, choices=Kind)
    status = models.CharField(max_length=16, blank=True, default="")
    diagnostic = models.TextField("the server’s answer", blank=True, default="")
    # Address in the report, for people investigating an unclear one.
    recipient = models.CharField(max_length=320, blank=True, default="")
    at = models.DateTimeField(default=timezone.now)
    effect = models.CharField("what was done", max_length=255, blank=True, default="")
    held = models.BooleanField("waits for you", default=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (
            models.Index(name="bounce_of_destination", fields=["destination", "at"]),
            models.Index(name="bounce_of_domain", fields=["domain", "at"]),
            models.Index(name="bounce_at", fields=["at"]),
            models.Index(name="bounce_unproven", fields=["at"], condition=Q(delivery=None)),
            models.Index(name="bounce_held", fields=["at"], condition=Q(held=True)),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.destination or self.recipient or 'nobody known'}"
