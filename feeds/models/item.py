from datetime import datetime, timedelta
from functools import cached_property
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from common.db.bulk import counted_by
from feeds.models.feed import Feed
from feeds.parsing.likeness import Likeness, likeness

# A change seen before `until` may settle this long after.
LINGERS = timedelta(hours=6)


class ItemQuerySet(models.QuerySet["Item"]):
    def held(self) -> Self:
        return self.unassigned().filter(held_at__isnull=False)

    def settling(self) -> Self:
        return self.unassigned().filter(held_at=None, final_at=None)

    def unassigned(self) -> Self:
        return self.filter(state="unassigned", vanished_at=None)

    def final(self) -> Self:
        """Waiting for the assign stage."""
        unread = ItemPage.objects.filter(item=OuterRef("pk"), due_at__isnull=False)
        return self.unassigned().filter(~Exists(unread), held_at=None, final_at__isnull=False)

    def counts(self) -> dict[str, int]:
        """Large counts of cleared and excluded items are estimates."""
        order = ("-first_seen", "-pk")
        return counted_by(self, "state", found_by=dict.fromkeys(("unassigned", "assigned"), order))


class Item(models.Model):
    """Unassigned → Assigned → Cleared, or Excluded. The last two have no content."""

    class State(models.TextChoices):
        UNASSIGNED = "unassigned", "waiting to settle"
        ASSIGNED = "assigned", "in a next issue"
        CLEARED = "cleared", "done"
        EXCLUDED = "excluded", "excluded"

    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="items")
    guid = models.TextField()
    # SHA-256: rows of an index have a limit, guids have none.
    guid_hash = models.CharField(max_length=64, editable=False)
    link = models.TextField(blank=True, default="")
    # 32 hex digits, or "" (feeds.parsing.identity).
    link_hash = models.CharField(max_length=32, blank=True, default="", editable=False)
    title = models.TextField(blank=True, default="")
    published_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.UNASSIGNED)
    reason = models.TextField(blank=True, default="", help_text="Why it is excluded.")
    first_seen = models.DateTimeField()
    stable_since = models.DateTimeField()
    last_checked = models.DateTimeField()
    final_at = models.DateTimeField(null=True, blank=True)
    vanished_at = models.DateTimeField(null=True, blank=True)
    # It becomes final from the stored content.
    rolled_off_at = models.DateTimeField(null=True, blank=True)
    # Withdrawn while in a collection; not sent unless it returns.
    set_aside_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Does not settle until an admin releases it.
    held_at = models.DateTimeField(null=True, blank=True)
    # Consecutive readings with changes, while unsettled.
    changes = models.PositiveIntegerField(default=0, editable=False)
    # After a withdrawal, before it was final.
    returns = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    content_hash = models.CharField(max_length=80, blank=True, default="", editable=False)
    entry = models.JSONField(null=True, blank=True, editable=False)

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ("-first_seen", "-pk")
        verbose_name = "post"
        constraints = (
            models.UniqueConstraint(name="item_identity", fields=["feed", "guid_hash"]),
            models.CheckConstraint(
                name="item_content_while_needed",
                condition=Q(state__in=("unassigned", "assigned"), entry__isnull=False)
                | Q(state__in=("cleared", "excluded"), entry__isnull=True),
            ),
        )
        indexes = (
            # For lists, newest first.
            models.Index(name="item_seen", fields=["-first_seen", "-id"]),
            models.Index(name="item_of_feed", fields=["feed", "-first_seen", "-id"]),
            models.Index(name="item_in_state", fields=["state", "-first_seen", "-id"]),
            models.Index(name="item_open", fields=["feed"], condition=Q(state="unassigned")),
            models.Index(name="item_link", fields=["feed", "link_hash"], condition=~Q(link_hash="")),
            models.Index(
                name="item_final",
                fields=["final_at"],
                condition=Q(state="unassigned", vanished_at=None, held_at=None, final_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.title or self.link or self.guid

    @property
    def waits(self) -> bool:
        return self.state == self.State.UNASSIGNED and self.vanished_at is None

    @cached_property
    def like(self) -> Likeness:
        return likeness(self.title, self.link)


class TrackedItemQuerySet(models.QuerySet["TrackedItem"]):
    def unnoted(self) -> Self:
        return self.filter(noted=False)

    def unsettled(self) -> Self:
        return self.filter(~Q(seen_hash="") | Q(missing_since__isnull=False), news="")

    def with_news(self) -> Self:
        return self.exclude(news="")

    def over(self, now: datetime) -> Self:
        return self.filter(until__lt=now - LINGERS)


class TrackedItem(models.Model):
    """A sent post whose later changes an app wants to know; polls write `news`.

    Only tracked posts have rows, and `Feed.tracked_until` saves queries for other feeds.
    """

    class News(models.TextChoices):
        NONE = "", "nothing"
        CORRECTED = "corrected"
        WITHDRAWN = "withdrawn"

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="tracked")
    # Later changes are ignored.
    until = models.DateTimeField()
    # Feed.tracked_until includes it.
    noted = models.BooleanField(default=False)
    content_hash = models.CharField(max_length=80)
    # Another text, and since when.
    seen_hash = models.CharField(max_length=80, blank=True, default="")
    seen_since = models.DateTimeField(null=True, blank=True)
    entry = models.JSONField(null=True, blank=True)
    # Missing from the feed, though older posts remain.
    missing_since = models.DateTimeField(null=True, blank=True)
    corrections = models.PositiveSmallIntegerField(default=0)
    news = models.CharField(max_length=10, choices=News, blank=True, default=News.NONE)

    objects = TrackedItemQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(name="tracked_news", fields=["item"], condition=~Q(news="")),
            models.Index(name="tracked_unnoted", fields=["item"], condition=Q(noted=False)),
            models.Index(name="tracked_until", fields=["until"]),
        )

    def __str__(self) -> str:
        return f"{self.item}: {self.get_news_display()}"


class ItemVersion(models.Model):
    """Text of a post that changed once it was final, or is read here. The newest is the present one."""

    # No constraint: the previous release deletes items without knowing versions.
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="versions", db_constraint=False)
    seen_at = models.DateTimeField()
    entry = models.JSONField()

    class Meta:
        ordering = ("item", "pk")
        indexes = (models.Index(name="item_version_seen", fields=["seen_at"]),)

    def __str__(self) -> str:
        return f"{self.item} at {self.seen_at:%Y-%m-%d %H:%M}"


class ItemPage(models.Model):
    """Page of a post whose feed has excerpts. While it is due, the post isn't final."""

    # No constraint: the previous release deletes items without knowing pages.
    item = models.OneToOneField(
        Item, on_delete=models.CASCADE, primary_key=True, related_name="page", db_constraint=False
    )
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True)
    # Since it was asked for, and of all times.
    tries = models.PositiveSmallIntegerField(default=0)
    readings = models.PositiveSmallIntegerField(default=0)
    # Why the excerpt is used.
    note = models.TextField(blank=True, default="")

    class Meta:
        indexes = (models.Index(name="page_due", fields=["due_at"], condition=Q(due_at__isnull=False)),)

    def __str__(self) -> str:
        return f"page of {self.item}"
