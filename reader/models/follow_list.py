"""A list of feeds that a reader brought along, and what became of each line of it."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reader.models.channel import LONGEST_FOLLOW_NAME
from reader.models.reader import Reader


class FollowList(models.Model):
    """The last one of a reader: the next one replaces it. Its lines that wait are the queue."""

    reader = models.OneToOneField(Reader, on_delete=models.CASCADE, related_name="follow_list")
    # Not well-formed: read as far as it goes.
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
    """A feed of the list in one channel. `line` is counted from 1, as editors do."""

    class Outcome(models.TextChoices):
        WAITING = "waiting", "waits"
        FOLLOWED = "followed", "followed"
        KNOWN = "known", "followed already"
        REFUSED = "refused", "refused"

    follow_list = models.ForeignKey(
        FollowList, on_delete=models.CASCADE, related_name="lines", db_index=False
    )
    line = models.PositiveIntegerField()
    # Without user name and password: a line that has them is refused.
    url = models.TextField()
    name = models.CharField(max_length=LONGEST_FOLLOW_NAME)
    # By its name: it is made when it is missing.
    channel = models.CharField(max_length=100)
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.WAITING)
    # A sentence for the reader, where it was refused.
    reason = models.TextField(default="")

    class Meta:
        ordering = ("pk",)
        indexes = (models.Index(name="follow_line_outcome", fields=["follow_list", "outcome", "id"]),)

    def __str__(self) -> str:
        return f"line {self.line}"
