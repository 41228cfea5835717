"""An item: one guid in one feed, with its state on the way to readers."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import Q

from common.db.tallies import counted_by
from feeds.models.feed import Feed


class ItemQuerySet(models.QuerySet["Item"]):
    def held(self) -> Self:
        """Waiting for an admin's word."""
        return self.unassigned().filter(held_at__isnull=False)

    def settling(self) -> Self:
        """Waiting to become final at some reading to come."""
        return self.unassigned().filter(held_at=None, final_at=None)

    def unassigned(self) -> Self:
        return self.filter(state="unassigned", vanished_at=None)

    def final(self) -> Self:
        """Settled, and waiting for the assign stage."""
        return self.unassigned().filter(held_at=None, final_at__isnull=False)

    def counts(self) -> dict[str, int]:
        """How many in each state; of many, about how many are done or excluded."""
        order = ("-first_seen", "-pk")
        return counted_by(self, "state", found_by=dict.fromkeys(("unassigned", "assigned"), order))


class Item(models.Model):
    """Unassigned → Assigned → Cleared, or Excluded. Cleared and Excluded items keep identity, not content."""

    class State(models.TextChoices):
        UNASSIGNED = "unassigned", "waiting to settle"
        ASSIGNED = "assigned", "in a collection"
        CLEARED = "cleared", "done"
        EXCLUDED = "excluded", "excluded"

    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="items")
    guid = models.TextField()
    # guids have no length limit and index rows do: identity is the digest (hex SHA-256) of the guid.
    guid_hash = models.CharField(max_length=64, editable=False)
    link = models.TextField(blank=True, default="")
    # Hex, 32 digits, of the canonical link (feeds.parsing.identity); "" without one.
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
    # Left the document at its old end before it was final: becomes final from what we kept.
    rolled_off_at = models.DateTimeField(null=True, blank=True)
    # It is in a collection, and its feed has withdrawn it since: it is not sent unless it comes back.
    set_aside_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Came in a flood, or after a restore: does not settle until an admin lets it go.
    held_at = models.DateTimeField(null=True, blank=True)
    # Readings in a row at which it had changed, while it may still change.
    changes = models.PositiveIntegerField(default=0, editable=False)
    # How often it had been withdrawn and came back before it was final.
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
            # Lists show the newest first: of all, of a feed, in a state.
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


# What was seen before the end may still come to rest so long after it.
LINGERS = timedelta(hours=6)


class TrackedItemQuerySet(models.QuerySet["TrackedItem"]):
    def unnoted(self) -> Self:
        return self.filter(noted=False)

    def unsettled(self) -> Self:
        """A change was seen that has to stand for a while yet."""
        return self.filter(~Q(seen_hash="") | Q(missing_since__isnull=False), news="")

    def with_news(self) -> Self:
        """What the later app has not taken yet."""
        return self.exclude(news="")

    def over(self, now: datetime) -> Self:
        return self.filter(until__lt=now - LINGERS)


class TrackedItem(models.Model):
    """Made by whoever sent the post; polls keep it, and say in `news` what is to be told of it.

    Rows of posts that nobody tracks do not exist, and a feed's row says whether it has any: so that polls of
    other feeds ask nothing.
    """

    class News(models.TextChoices):
        NONE = "", "nothing"
        CORRECTED = "corrected"
        WITHDRAWN = "withdrawn"

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="tracked")
    # What is seen first after this does not count any more.
    until = models.DateTimeField()
    # Whether the feed's row knows of it (Feed.tracked_until).
    noted = models.BooleanField(default=False)
    # Of the text that whoever sent it knows.
    content_hash = models.CharField(max_length=80)
    # Another text, which has stood there since; `entry` is that text.
    seen_hash = models.CharField(max_length=80, blank=True, default="")
    seen_since = models.DateTimeField(null=True, blank=True)
    entry = models.JSONField(null=True, blank=True)
    # Since when its feed has lost it, and not the older ones.
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
