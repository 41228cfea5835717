"""A post that went out, while a later app wants to know what becomes of it in its feed."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import Q

from feeds.models.item import Item

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
