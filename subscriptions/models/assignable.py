from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from feeds.models import Item
from subscriptions.models.subscribable import Subscribable


class SeenLink(models.Model):
    """Item by which a canonical link came into a newsletter."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="carried")
    link_hash = models.CharField(max_length=32)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(name="carried_once", fields=["subscribable", "link_hash"]),)

    def __str__(self) -> str:
        return f"{self.item} in {self.subscribable}"


class AssignableQuerySet(models.QuerySet["Assignable"]):
    def due(self, now: datetime) -> Self:
        """Exclude collections sealed by a live worker or backing off."""
        return self.filter(Q(seal_token=None) | Q(seal_until__lt=now)).filter(next_try_at__lte=now)

    def counted(self) -> Self:
        """Annotate with the numbers of posts to be sent and not."""
        return self.annotate(held=KEPT, left_out=LEFT_OUT)


class Assignable(models.Model):
    """Open collection.

    While `seal_token` is set and `seal_until` not past, a worker renders it and no item may be added. Lock
    its Subscribable before changing its items.
    """

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="assignables")
    within_type_id = models.CharField(max_length=64)
    opened_at = models.DateTimeField(default=timezone.now)
    period_start = models.DateTimeField(null=True, blank=True)
    period_end = models.DateTimeField("closes", null=True, blank=True)
    # Every n, at the opening.
    capacity = models.PositiveIntegerField(null=True, blank=True)
    items = models.ManyToManyField(Item, through="Assignment", related_name="assignables")
    seal_token = models.UUIDField(null=True, blank=True, editable=False)
    seal_until = models.DateTimeField(null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    next_try_at = models.DateTimeField(default=timezone.now, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    # An editor's changes to the issue. Empty: the newsletter's defaults.
    subject = models.TextField(blank=True, default="", db_default="", editable=False)
    note_top = models.TextField(blank=True, default="", db_default="", editable=False)
    note_foot = models.TextField(blank=True, default="", db_default="", editable=False)
    # Becomes a draft, whatever the newsletter's approval.
    waits = models.BooleanField(default=False, db_default=False, editable=False)
    sent_now_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Latest edits with their undo data (rules.edits).
    steps = models.JSONField(null=True, blank=True, editable=False)
    # Suggested by an assistant (collections.proposals). It changes nothing until an editor accepts it.
    proposal = models.JSONField(null=True, blank=True, editable=False)

    objects = AssignableQuerySet.as_manager()

    class Meta:
        ordering = ("opened_at", "pk")
        verbose_name = "next issue"
        constraints = (
            models.UniqueConstraint(name="assignable_identity", fields=["subscribable", "within_type_id"]),
            models.CheckConstraint(
                name="assignable_sealed_whole",
                condition=Q(seal_token=None, seal_until=None)
                | Q(seal_token__isnull=False, seal_until__isnull=False),
            ),
            models.CheckConstraint(
                name="assignable_period_whole",
                condition=Q(period_start=None, period_end=None)
                | Q(period_start__isnull=False, period_end__gt=models.F("period_start")),
            ),
        )

    def __str__(self) -> str:
        opened = self.opened_at.astimezone(self.subscribable.zone)
        return f"{self.subscribable}, collected since {opened.day} {opened:%B %Y}"


def is_kept(assignment: str = "", assignable: str = "assignable__") -> Q:
    """Return the condition for posts to send. Arguments are paths.

    A collection of a single post closes at once, so a withdrawal has no effect.
    """
    there = Q(**{f"{assignment}item__set_aside_at": None})
    single = Q(**{f"{assignable}period_end": None, f"{assignable}capacity": None})
    return Q(**{f"{assignment}left_out_at": None}) & (there | single)


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def kept(self) -> Self:
        return self.filter(is_kept())


KEPT = models.Count("assignments", filter=is_kept("assignments__", ""))
LEFT_OUT = models.Count("assignments", filter=~is_kept("assignments__", ""))


class Assignment(models.Model):
    """Item in an open collection. If left out, it stays until the collection ends."""

    assignable = models.ForeignKey(Assignable, on_delete=models.CASCADE, related_name="assignments")
    # A plan from stale rows must not delete an item assigned meanwhile.
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    assigned_at = models.DateTimeField(default=timezone.now)
    left_out_at = models.DateTimeField(null=True, blank=True)
    # Set by an editor. Posts without a place follow.
    place = models.PositiveIntegerField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="assignment_once", fields=["assignable", "item"]),)

    def __str__(self) -> str:
        return f"item {self.item_id} in {self.assignable_id}"

    @property
    def is_withdrawn(self) -> bool:
        is_single = self.assignable.period_end is None and self.assignable.capacity is None
        return self.left_out_at is None and self.item.set_aside_at is not None and not is_single
