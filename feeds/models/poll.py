"""A poll: what one reading of a feed brought, for the timeline on its page. Pruned after a while."""

from django.db import models

from feeds.models.feed import Feed


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
