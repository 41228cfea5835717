"""Where a post stands in a channel, and whether it is unread there."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from feeds.models import Feed
from reader.models.channel import Channel
from reader.models.entry import Entry
from reader.models.reader import Reader

SEEN = Q(hidden=0)


class TimelineEntryQuerySet(models.QuerySet["TimelineEntry"]):
    def seen(self) -> Self:
        """Those that timelines show."""
        return self.filter(hidden=TimelineEntry.Hidden.SEEN)


class TimelineEntry(models.Model):
    """A post in a channel. Timelines go by (`at`, `pk`), newest first."""

    class Hidden(models.IntegerChoices):
        SEEN = 0
        MUTED = 1
        REMOVED = 2
        DUPLICATE = 3
        WITHDRAWN = 4
        FILTERED = 5

    # (`place_once` serves what is asked by channel alone; all of a reader's rows go channel by channel.)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="places", db_index=False)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="places", db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="places")
    # (Without a constraint: to check it would wait for the poll that has the feed's row, which waits for us.)
    feed = models.ForeignKey(
        Feed, on_delete=models.SET_NULL, null=True, related_name="places", db_constraint=False
    )
    # Where it stands in the channel: when it came, or for what was there before, when it was published.
    at = models.DateTimeField()
    # When it came into the channel, whatever its date: clients of Google Reader ask for what came since.
    came_at = models.DateTimeField(db_default=Now())
    hidden = models.PositiveSmallIntegerField(choices=Hidden, default=Hidden.SEEN)
    # While hidden: whether it is unread again once it is seen.
    was_unread = models.BooleanField(default=False)

    objects = TimelineEntryQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="place_once", fields=["channel", "entry"]),)
        indexes = (
            models.Index(name="place_in_channel", fields=["channel", "-at", "-id"], condition=Q(hidden=0)),
            models.Index(
                name="place_of_feed", fields=["channel", "feed", "-at", "-id"], condition=Q(hidden=0)
            ),
            models.Index(name="place_of_reader", fields=["reader", "-at", "-id"], condition=Q(hidden=0)),
            models.Index(
                name="place_as_it_came", fields=["reader", "-came_at", "-id"], condition=Q(hidden=0)
            ),
        )

    def __str__(self) -> str:
        return f"entry {self.entry_id} in channel {self.channel_id}"


class Unread(models.Model):
    """A row only while its place is seen and unread.

    To mark posts read deletes rows. As an UPDATE of a flag in an index it takes forty times as long.
    """

    place = models.OneToOneField(
        TimelineEntry, on_delete=models.CASCADE, primary_key=True, related_name="unread"
    )
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="+", db_index=False)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="+", db_index=False)
    # As its place's.
    at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(name="unread_in_channel", fields=["channel", "-at", "-place"]),
            models.Index(name="unread_of_reader", fields=["reader", "-at", "-place"]),
        )

    def __str__(self) -> str:
        return f"place {self.place_id}"
