"""What became of an issue's post after it went out, and has to be done where it stands."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q

from delivery.models.delivery import Delivery
from delivery.models.issue import Issue


class RemotePost(models.Model):
    """Of a post that a bridge sent: where people see it, and a thread's other posts.

    Before it is sent: what was done so far, such as pictures that were uploaded (see Session.send).
    """

    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="remote_post"
    )
    url = models.TextField(blank=True, default="")
    # The service's ids, in the order of the thread; the first post's is the delivery's remote_id.
    parts = models.JSONField(default=list)
    progress = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.url or f"of delivery {self.delivery_id}"


class CorrectionQuerySet(models.QuerySet["Correction"]):
    def due(self, now: datetime) -> Self:
        return self.filter(look_at__lte=now)


class Correction(models.Model):
    """The issue's post as its feed has it now; or that it was withdrawn: then there is no text of it.

    Each is numbered within its issue. What was sent stays as it was, in the IssueItem.
    """

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="corrections", db_index=False)
    number = models.PositiveSmallIntegerField()
    # When it was first seen in the feed.
    seen_at = models.DateTimeField()
    entry = models.JSONField(null=True, blank=True)
    content_hash = models.CharField(max_length=80, blank=True, default="")
    # While deliveries are to be made for it: when that is looked at next. Those that are on their way are
    # waited for.
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
