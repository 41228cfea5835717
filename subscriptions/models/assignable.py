"""An open collection, and what is in it."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from feeds.models import Item
from subscriptions.models.subscribable import Subscribable


class SeenLink(models.Model):
    """The item by which a canonical link went into a newsletter. Kept as long as the item is."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="carried")
    link_hash = models.CharField(max_length=32)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(name="carried_once", fields=["subscribable", "link_hash"]),)

    def __str__(self) -> str:
        return f"{self.item} in {self.subscribable}"


class AssignableQuerySet(models.QuerySet["Assignable"]):
    def due(self, now: datetime) -> Self:
        """Collections worth a look: not sealed by a live worker, not backing off."""
        return self.filter(Q(seal_token=None) | Q(seal_until__lt=now)).filter(next_try_at__lte=now)

    def counted(self) -> Self:
        """With how many posts of each are kept (`held`), and how many are not to be sent (`left_out`)."""
        return self.annotate(held=KEPT, left_out=LEFT_OUT)


class Assignable(models.Model):
    """An open collection. Its period is stored, never parsed back from its within_type_id.

    While `seal_token` is set and `seal_until` not past, a worker renders it and nothing may join it;
    whoever changes what it holds first locks its Subscribable.
    """

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="assignables")
    within_type_id = models.CharField(max_length=64)
    opened_at = models.DateTimeField(default=timezone.now)
    period_start = models.DateTimeField(null=True, blank=True)
    period_end = models.DateTimeField("closes", null=True, blank=True)
    # Every n: the n it was opened with, kept when the newsletter is edited.
    capacity = models.PositiveIntegerField(null=True, blank=True)
    items = models.ManyToManyField(Item, through="Assignment", related_name="assignables")
    seal_token = models.UUIDField(null=True, blank=True, editable=False)
    seal_until = models.DateTimeField(null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    next_try_at = models.DateTimeField(default=timezone.now, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    # What an editor wants of the issue that is made of it; empty where the newsletter's own ways hold.
    subject = models.TextField(blank=True, default="", db_default="", editable=False)
    note_top = models.TextField(blank=True, default="", db_default="", editable=False)
    note_foot = models.TextField(blank=True, default="", db_default="", editable=False)
    # At its time it becomes a draft, whatever the newsletter does else.
    waits = models.BooleanField(default=False, db_default=False, editable=False)
    sent_now_at = models.DateTimeField(null=True, blank=True, editable=False)
    # The latest edits, each with what it takes to undo it (rules.edits).
    steps = models.JSONField(null=True, blank=True, editable=False)

    objects = AssignableQuerySet.as_manager()

    class Meta:
        ordering = ("opened_at", "pk")
        verbose_name = "collection"
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
    """Return the condition for posts that are to be sent, by the ways to an assignment and its collection.

    No editor has left them out, and their feed has not withdrawn them. A collection of a single post closes
    at once, so its post is sent as it was taken in.
    """
    there = Q(**{f"{assignment}item__set_aside_at": None})
    single = Q(**{f"{assignable}period_end": None, f"{assignable}capacity": None})
    return Q(**{f"{assignment}left_out_at": None}) & (there | single)


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def kept(self) -> Self:
        """Return the assignments of posts that are to be sent."""
        return self.filter(is_kept())


# The posts of a collection that are to be sent, for an annotation, and the others.
KEPT = models.Count("assignments", filter=is_kept("assignments__", ""))
LEFT_OUT = models.Count("assignments", filter=~is_kept("assignments__", ""))


class Assignment(models.Model):
    """An item in an open collection. One that was left out stays in it, unsent, until the collection ends."""

    assignable = models.ForeignKey(Assignable, on_delete=models.CASCADE, related_name="assignments")
    # PROTECT: a plan made from stale rows must not delete an item that was assigned meanwhile.
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    assigned_at = models.DateTimeField(default=timezone.now)
    left_out_at = models.DateTimeField(null=True, blank=True)
    # Where an editor put it. Posts without a place come after those that have one, in the usual order.
    place = models.PositiveIntegerField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="assignment_once", fields=["assignable", "item"]),)

    def __str__(self) -> str:
        return f"item {self.item_id} in {self.assignable_id}"

    @property
    def is_withdrawn(self) -> bool:
        """Whether its post is not sent because its feed has withdrawn it (`is_kept`)."""
        is_single = self.assignable.period_end is None and self.assignable.capacity is None
        return self.left_out_at is None and self.item.set_aside_at is not None and not is_single
