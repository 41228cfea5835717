"""Letters that were kept here because there is no mail server yet (EMAIL_URL=mailbox:)."""

from django.db import models
from django.utils import timezone

from delivery.models.delivery import Delivery


class MailboxMessage(models.Model):
    """The message as it would have gone out, byte for byte."""

    delivery = models.OneToOneField(Delivery, on_delete=models.CASCADE, related_name="kept_message")
    recipient = models.CharField(max_length=320)
    subject = models.TextField(blank=True, default="")
    stored_at = models.DateTimeField(default=timezone.now)
    raw = models.BinaryField()

    class Meta:
        ordering = ("-stored_at", "-pk")

    def __str__(self) -> str:
        return self.subject
