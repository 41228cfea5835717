"""An item: one guid in one feed, with its state on the way to readers."""

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
