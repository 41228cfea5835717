"""Changes of published posts, to be repeated where the posts were sent."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q

from delivery.models.delivery import Delivery
from delivery.models.issue import Issue


class RemotePost(models.Model):
    """Where a bridge's post is, with a thread's other posts.

    Before sending: finished steps, such as uploaded pictures (see Session.send).
    """

    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="remote_post"
    )
    url = models.TextField(blank=True, default="")
    # The service's ids in thread order; the first post's is the delivery's remote_id.
    parts = models.JSONField(default=list)
    progress = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.url or f"of delivery {self.delivery_id}"


class CorrectionQuerySet(models.QuerySet["Correction"]):
    def due(self, now: datetime) -> Self:
        return self.filter(look_at__lte=now)


class Correction(models.Model):
    """An issue's post with its feed's new text, or its withdrawal, without text.

    Numbered per issue. The IssueItem keeps what was sent.
    """

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="corrections", db_index=False)
    number = models.PositiveSmallIntegerField()
    # In the feed.
    seen_at = models.DateTimeField()
    entry = models.JSONField(null=True, blank=True)
    content_hash = models.CharField(max_length=80, blank=True, default="")
    # Next check while deliveries for it remain to be made. Those being sent are waited for.
    look_at = models.DateTimeField(null=True, blank=True)

    objects = CorrectionQuerySet.as_manager()

    class Meta:
        ordering = ("issue", "number")
        constraints = (models.UniqueConstraint(name="correction_number", fields=["issue", "number"]),)
        indexes = (
            models.Index(name="correction_due", fields=["look_at"], condition=Q(look_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{'Withdrawal' if self.is_withdrawal else 'Correction'} of {self.issue}"

    @property
    def is_withdrawal(self) -> bool:
        return not self.content_hash
