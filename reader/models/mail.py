from django.db import models
from django.utils import timezone

from feeds.models import Feed
from reader.models.channel import Channel
from reader.models.reader import Reader


class MailAddress(models.Model):
    """Secret address read+<key>@BOUNCE_DOMAIN. Without a channel new sources are read in the first one."""

    class Problem(models.TextChoices):
        LARGE = "large", "too large"
        COMPLEX = "complex", "too complex"
        MANY = "many", "too many in an hour"
        SOURCES = "sources", "too many senders"

    # Workers of the previous release delete readers and channels, too.
    reader = models.ForeignKey(
        Reader, on_delete=models.CASCADE, related_name="mail_addresses", db_constraint=False
    )
    channel = models.ForeignKey(
        Channel, on_delete=models.SET_NULL, null=True, related_name="mail_addresses", db_constraint=False
    )
    key = models.CharField(max_length=32, unique=True)
    asks_first = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=timezone.now)
    # Of the last message that was refused.
    problem = models.CharField(max_length=8, choices=Problem, default="")
    problem_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"address of {self.reader}"


class MailSource(models.Model):
    """Sender or list. Its feed has no items, so that nothing but this reader shows its posts."""

    class State(models.TextChoices):
        ACCEPTED = "accepted", "accepted"
        HELD = "held", "held"
        REFUSED = "refused", "refused"

    class Left(models.TextChoices):
        DONE = "done", "done"
        MAILED = "mailed", "mailed"
        FAILED = "failed", "failed"

    reader = models.ForeignKey(
        Reader, on_delete=models.CASCADE, related_name="mail_sources", db_index=False, db_constraint=False
    )
    # List-Id, or the sender's address.
    key = models.CharField(max_length=250)
    title = models.CharField(max_length=200)
    sender = models.CharField(max_length=250)
    sent_to = models.CharField(max_length=320)
    state = models.CharField(max_length=8, choices=State, default=State.ACCEPTED)
    feed = models.OneToOneField(
        Feed, on_delete=models.SET_NULL, null=True, related_name="mail_source", db_constraint=False
    )
    made_at = models.DateTimeField(default=timezone.now)
    newest_at = models.DateTimeField(null=True)
    # A reader.rules.mail_posts.Leaving, of the latest message.
    leaving = models.JSONField(default=dict)
    left_at = models.DateTimeField(null=True)
    left = models.CharField(max_length=6, choices=Left, default="")
    left_problem = models.TextField(default="")

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(name="mail_source_once", fields=["reader", "key"]),)

    def __str__(self) -> str:
        return self.title


class MailMessage(models.Model):
    """Message that arrived. `held` is its post while the source is held."""

    source = models.ForeignKey(MailSource, on_delete=models.CASCADE, related_name="messages", db_index=False)
    # Hex SHA-256 of the Message-ID.
    digest = models.CharField(max_length=64)
    at = models.DateTimeField()
    held = models.JSONField(null=True)

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(name="mail_message_once", fields=["source", "digest"]),)
        indexes = (models.Index(name="mail_message_at", fields=["at"]),)

    def __str__(self) -> str:
        return f"message of {self.source}"
