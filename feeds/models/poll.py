"""A poll: what one reading of a feed brought, for the timeline on its page. Pruned after a while."""

from django.db import models

from feeds.models.feed import Feed, HubSubscription


class Push(models.Model):
    """The newest push of its subscription. One that it replaced is owed, and read from the feed itself."""

    subscription = models.OneToOneField(
        HubSubscription, on_delete=models.CASCADE, primary_key=True, related_name="push"
    )
    body = models.BinaryField()
    content_type = models.CharField(max_length=200, blank=True, default="")
    # Before its body was read.
    arrived_at = models.DateTimeField()
    # When a worker began to read it. If that never ends, the push is not read a second time.
    began_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"push of {self.arrived_at:%Y-%m-%d %H:%M}"


class FeedDocument(models.Model):
    """`body` is zlib-compressed; `order` is the concatenation of 16-byte guid digests, as they stood."""

    feed = models.OneToOneField(Feed, on_delete=models.CASCADE, primary_key=True, related_name="document")
    body = models.BinaryField()
    headers = models.JSONField(default=dict)
    # What the channel says of itself: see feeds.parsing.entry.Channel.
    channel = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64)
    order = models.BinaryField()
    fetched_at = models.DateTimeField()
    # When the server last sent it, rather than say that it has not changed (304).
    sent_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"document of feed {self.feed_id}"


class Poll(models.Model):
    """`duration_ms` is the request's; the counts are of items; `note` says what else was done or wrong."""

    class Outcome(models.TextChoices):
        READ = "read", "read"
        UNCHANGED = "unchanged", "nothing new"
        FAILED = "failed", "failed"

    class Origin(models.TextChoices):
        POLL = "poll", "asked"
        PUSH = "push", "told by its hub"

    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="polls")
    at = models.DateTimeField()
    origin = models.CharField(max_length=4, choices=Origin, default=Origin.POLL)
    outcome = models.CharField(max_length=10, choices=Outcome)
    # The HTTP status; none when there was no answer.
    status = models.PositiveSmallIntegerField(null=True)
    bytes = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    new = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    vanished = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)
    excluded = models.PositiveIntegerField(default=0)
    final = models.PositiveIntegerField(default=0)
    note = models.TextField(blank=True, default="")
    next_poll_at = models.DateTimeField()
    next_poll_why = models.CharField(max_length=12, blank=True, default="")

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (
            models.Index(name="poll_of_feed", fields=["feed", "-at"]),
            models.Index(name="poll_at", fields=["at"]),
        )

    def __str__(self) -> str:
        return f"{self.outcome} at {self.at:%Y-%m-%d %H:%M}"
