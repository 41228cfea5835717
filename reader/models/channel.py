from datetime import datetime, time
from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext_lazy as _

from feeds.models import Feed
from reader.models.reader import Reader

LONGEST_FOLLOW_NAME = 200


class Channel(models.Model):
    """Clients put `uid` into URLs unquoted: it has letters, digits, - and _ only."""

    class UnreadMode(models.TextChoices):
        COUNT = "count", "number of unread posts"
        FLAG = "flag", "whether there are unread posts"
        OFF = "off", "nothing"

    class Layout(models.TextChoices):
        LIST = "list", "list"
        CARDS = "cards", "cards"
        GALLERY = "gallery", "pictures"

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="channels")
    uid = models.CharField(max_length=24)
    name = models.CharField(max_length=100)
    position = models.IntegerField(default=0)
    is_notifications = models.BooleanField(default=False, db_default=False)
    unread_mode = models.CharField(max_length=5, choices=UnreadMode, default=UnreadMode.COUNT)
    # Null: the settings' retention.
    keep_days = models.PositiveIntegerField(null=True, blank=True)
    layout = models.CharField(max_length=7, choices=Layout, default=Layout.LIST, db_default=Layout.LIST.value)
    in_deck = models.BooleanField(default=True, db_default=True)
    # A Filters (reader.rules.filters), or null.
    filters = models.JSONField(null=True)
    # Terms, one a line, that took too long.
    filters_trouble = models.TextField(default="", db_default="")
    # The filters still have to judge entries below this key.
    ask_below = models.BigIntegerField(null=True)
    is_published = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("reader", "-is_notifications", "position", "pk")
        constraints = (
            models.UniqueConstraint(name="channel_uid", fields=["reader", "uid"]),
            models.UniqueConstraint(name="channel_name", fields=["reader", "name"]),
        )
        indexes = (models.Index(name="channel_to_ask", fields=["id"], condition=Q(ask_below__isnull=False)),)

    def __str__(self) -> str:
        return self.name


class Letters(models.Model):
    """A channel's posts by email. Fields that its newsletter has, too, are named as there."""

    class Arrangement(models.TextChoices):
        OFF = "off", _("off")
        DAILY = "daily", _("daily")
        WEEKLY = "weekly", _("weekly")

    class Content(models.TextChoices):
        FULL = "full", _("full posts")
        EXCERPT = "excerpt", _("a picture and the first lines")
        TITLES = "titles", _("titles only")

    # The release before deletes channels and knows of no such rows.
    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="letters"
    )
    arrangement = models.CharField(max_length=6, choices=Arrangement, default="off")
    at = models.TimeField(default=time(7))
    # 0 is Monday.
    weekday = models.PositiveSmallIntegerField(choices=WEEKDAYS, default=4)
    time_zone = models.CharField(max_length=64, default="UTC")
    content = models.CharField(max_length=7, choices=Content, default="excerpt")
    max_posts = models.PositiveSmallIntegerField(
        default=50, validators=(MinValueValidator(1), MaxValueValidator(500))
    )
    unread_only = models.BooleanField(default=True)
    mark_read = models.BooleanField(default=False)
    key = models.CharField(max_length=43, editable=False)
    # Null until the address is confirmed.
    since = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"emails of {self.channel}"

    @property
    def is_weekly(self) -> bool:
        return self.arrangement == self.Arrangement.WEEKLY


class FollowQuerySet(models.QuerySet["Follow"]):
    def of(self, reader: Reader) -> Self:
        return self.filter(channel__reader=reader)

    def names(self) -> dict[tuple[int, int], str]:
        """Return the reader's names for feeds by (channel, feed)."""
        rows = self.exclude(name="").order_by().values_list("channel", "feed", "name")
        return {(channel, feed): name for channel, feed, name in rows}


class Follow(models.Model):
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="follows", db_index=False)
    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="follows")
    name = models.CharField(max_length=LONGEST_FOLLOW_NAME, blank=True, default="", db_default="")
    added_at = models.DateTimeField(default=timezone.now)

    objects = FollowQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(name="follow_once", fields=["channel", "feed"]),)

    def __str__(self) -> str:
        return f"{self.feed} in {self.channel}"

    @property
    def title(self) -> str:
        return self.name or self.feed.title or self.feed.host


class Mute(models.Model):
    """Author whose posts are hidden or (block) removed."""

    reader = models.ForeignKey(Reader, on_delete=models.CASCADE, related_name="mutes")
    # Null: all channels.
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, null=True, related_name="mutes", db_index=False
    )
    is_block = models.BooleanField(default=False)
    # From author_key (reader.rules.jf2).
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


class FeedIconQuerySet(models.QuerySet["FeedIcon"]):
    def due(self, now: datetime) -> Self:
        return self.filter(look_at__lte=now)


class FeedIcon(models.Model):
    """`url` is "" until found."""

    feed = models.OneToOneField(Feed, on_delete=models.CASCADE, primary_key=True, related_name="icon")
    url = models.TextField(default="")
    # Advanced before each attempt, so a killed worker's is repeated.
    look_at = models.DateTimeField()

    objects = FeedIconQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(name="feed_icon_due", fields=["look_at"]),)

    def __str__(self) -> str:
        return f"icon of feed {self.feed_id}"


class FollowList(models.Model):
    """Uploaded list; the next one replaces it. Lines that wait are the queue."""

    reader = models.OneToOneField(Reader, on_delete=models.CASCADE, related_name="follow_list")
    # Parsed as far as possible.
    is_broken = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        indexes = (models.Index(name="follow_list_open", fields=["id"], condition=Q(ended_at=None)),)

    def __str__(self) -> str:
        return f"list of {self.reader}"


class FollowLine(models.Model):
    """`line` counts from 1."""

    class Outcome(models.TextChoices):
        WAITING = "waiting", "waits"
        FOLLOWED = "followed", "followed"
        KNOWN = "known", "followed already"
        REFUSED = "refused", "refused"

    follow_list = models.ForeignKey(
        FollowList, on_delete=models.CASCADE, related_name="lines", db_index=False
    )
    line = models.PositiveIntegerField()
    # Lines with credentials are refused.
    url = models.TextField()
    name = models.CharField(max_length=LONGEST_FOLLOW_NAME)
    channel = models.CharField(max_length=100)
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.WAITING)
    reason = models.TextField(default="")
    # A reader.rules.saved_posts.SavedPost, {} once taken; null for a feed.
    post = models.JSONField(null=True)

    class Meta:
        ordering = ("pk",)
        indexes = (models.Index(name="follow_line_outcome", fields=["follow_list", "outcome", "id"]),)

    def __str__(self) -> str:
        return f"line {self.line}"
