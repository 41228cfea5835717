"""A reader's channels, the feeds that they follow in them, and whom they do not want to see."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from feeds.models import Feed
from reader.models.reader import Reader


class Channel(models.Model):
    """`uid` is what clients call it: letters, digits, - and _ only (they put it into addresses as it is)."""

    class UnreadMode(models.TextChoices):
        COUNT = "count", "how many posts are unread"
        FLAG = "flag", "whether a post is unread"
        OFF = "off", "nothing"

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="channels")
    uid = models.CharField(max_length=24)
    name = models.CharField(max_length=100)
    # From the top of the list; the notifications come before all.
    position = models.IntegerField(default=0)
    is_notifications = models.BooleanField(default=False, db_default=False)
    unread_mode = models.CharField(max_length=5, choices=UnreadMode, default=UnreadMode.COUNT)
    # How many days posts are kept here, read or not; null: as the site's settings say.
    keep_days = models.PositiveIntegerField(null=True, blank=True)
    # Whether its feeds stand on the reader's page, for everyone.
    is_published = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("reader", "-is_notifications", "position", "pk")
        constraints = (
            models.UniqueConstraint(name="channel_uid", fields=["reader", "uid"]),
            models.UniqueConstraint(name="channel_name", fields=["reader", "name"]),
        )

    def __str__(self) -> str:
        return self.name


class Follow(models.Model):
    """A feed in a channel; one feed may stand in several."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="follows", db_index=False)
    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="follows")
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(name="follow_once", fields=["channel", "feed"]),)

    def __str__(self) -> str:
        return f"{self.feed} in {self.channel}"


class Mute(models.Model):
    """An author whose posts are hidden, or (a block) gone, in one channel or in all of a reader's."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="mutes")
    # Null: in all.
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, null=True, related_name="mutes", db_index=False
    )
    is_block = models.BooleanField(default=False)
    # As reader.rules.authors.author_key has it.
    key = models.CharField(max_length=32)
    url = models.TextField()
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(name="mute_once", fields=["channel", "is_block", "key"]),
            models.UniqueConstraint(
                name="mute_once_in_all", fields=["reader", "is_block", "key"], condition=Q(channel=None)
            ),
        )
        indexes = (models.Index(name="mute_author", fields=["key"]),)

    def __str__(self) -> str:
        return self.url
