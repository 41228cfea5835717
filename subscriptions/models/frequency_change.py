"""A change from one newsletter to another over the same feeds: less often, or more often."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from subscriptions.models.subscribable import Subscribable
from subscriptions.models.subscription import Subscription


class FrequencyChange(models.Model):
    """Kept when it is over: it says what became of the old subscription.

    The collections of the newsletter that comes `rarer` decide. Those that end by `at`, or (every n) have a
    number up to `number`, belong to the old subscription, and so does every post in them.
    """

    old = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="switches_away")
    new = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="switches_here")
    rarer = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(null=True, blank=True)
    number = models.PositiveBigIntegerField(null=True, blank=True)
    # The reader had the new one before the switch: it goes on as it was, whatever becomes of that.
    was_there = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=timezone.now)
    # Since then it decides about no more issues: the old one has ended, but for what is on its way.
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("made_at", "pk")
        verbose_name_plural = "switches"
        constraints = (
            models.UniqueConstraint(
                name="switch_away_once", fields=["old"], condition=Q(settled_at__isnull=True)
            ),
            models.UniqueConstraint(
                name="switch_here_once", fields=["new"], condition=Q(settled_at__isnull=True)
            ),
            models.CheckConstraint(
                name="switch_by_time_or_number",
                condition=Q(at__isnull=False, number=None) | Q(at=None, number__isnull=False),
            ),
        )
        indexes = (models.Index(name="switch_open", fields=["rarer"], condition=Q(settled_at__isnull=True)),)

    def __str__(self) -> str:
        return f"{self.old_id} → {self.new_id}"
