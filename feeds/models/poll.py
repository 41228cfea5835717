from django.db import models

from feeds.models.feed import Feed, HubSubscription


class Push(models.Model):
    """The newest unread push. One that it replaces is read from the feed itself."""

    subscription = models.OneToOneField(
        HubSubscription, on_delete=models.CASCADE, primary_key=True, related_name="push"
    )
    body = models.BinaryField()
    content_type = models.CharField(max_length=200, blank=True, default="")
    # Before reading the body.
    arrived_at = models.DateTimeField()
    # If it never ends, the push is not read again.
    began_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"push of {self.arrived_at:%Y-%m-%d %H:%M}"


class FeedDocument(models.Model):
    """For previews and the next plan.

    `body` is zlib-compressed; `order` has 16 bytes of each guid's digest, `hashes` also 8 of the content's.
    """

    feed = models.OneToOneField(Feed, on_delete=models.CASCADE, primary_key=True, related_name="document")
    body = models.BinaryField()
    headers = models.JSONField(default=dict)
    # feeds.parsing.entry.Channel.
    channel = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64)
    order = models.BinaryField()
    # Null before this release.
    hashes = models.BinaryField(null=True)
    fetched_at = models.DateTimeField()
    # Last answer other than 304.
    sent_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"document of feed {self.feed_id}"


class Poll(models.Model):
    """For the timeline. Pruned."""

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
    # Null without an answer.
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

    @property
    def ok(self) -> bool:
        return self.outcome != self.Outcome.FAILED

    @property
    def error(self) -> str:
        return "" if self.ok else self.note
