"""A reader's wish that what comes to one address comes to another."""

from django.db import models
from django.utils import timezone

from subscriptions.models.destination import Destination


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
