"""What a service told later of a message that it had taken."""

from django.db import models
from django.utils import timezone

from delivery.models.delivery import Delivery


class Receipt(models.Model):
    """The latest that is known of a delivery: on its way, there, or not, with the service's own code."""

    class Status(models.TextChoices):
        """In the order in which they come; the last three are final."""

        QUEUED = "queued", "waits at the service"
        SENT = "sent", "handed to the phone network"
        DELIVERED = "delivered", "arrived on the phone"
        UNDELIVERED = "undelivered", "did not arrive"
        FAILED = "failed", "was not sent"

    # Without a constraint: the release before knows no receipts, and deletes deliveries.
    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="receipt", db_constraint=False
    )
    status = models.CharField(max_length=12, choices=Status)
    code = models.CharField(max_length=10, blank=True, default="")
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.get_status_display()}{f' ({self.code})' if self.code else ''}"
