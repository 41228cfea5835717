"""A feed: an address that is polled, and when to call its items settled."""

from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from feeds.querysets import FeedQuerySet

A_MONTH = 31 * 24 * 60


def minutes(default: int, help_text: str) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        default=default, validators=[MaxValueValidator(A_MONTH)], help_text=help_text
    )


class Feed(models.Model):
    """Polled under a lease; `fetched_through` is the moment before its last successful request."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        PAUSED = "paused", "paused"
        STOPPED = "stopped", "stopped"
        HELD = "held", "held"

    class Start(models.TextChoices):
        FROM_NOW = "from_now", "from now on"
        LAST = "last", "the last few, then from now on"
        ALL = "all", "everything in the feed"

    url = models.TextField("address", max_length=4000, help_text="For example https://example.org/feed.xml")
    title = models.TextField(blank=True, default="")
    site_url = models.TextField("web site", blank=True, default="")
    language = models.CharField(max_length=35, blank=True, default="")
    added_at = models.DateTimeField("added", default=timezone.now)
    start = models.CharField(
        "send",
        max_length=10,
        choices=Start,
        default=Start.FROM_NOW,
        help_text="Which of the posts that are in the feed when it is first read should be sent.",
    )
    start_count = models.PositiveIntegerField(
        "how many", default=0, help_text="With “the last few”: how many posts, newest first."
    )
    min_delay_minutes = minutes(30, "A post is never sent earlier than this after it was first seen.")
    await_stabilization_minutes = minutes(15, "A post must have stayed unchanged this long.")
    max_delay_minutes = minutes(180, "A post that keeps changing is sent after this all the same.")
    recheck_every_minutes = minutes(
        10, "How often the feed is read. 0 reads it at most once a minute (for feeds that ping)."
    )

    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    # Asked to be dropped while posts of it were on their way: deleted when the last has gone out.
    dropping = models.BooleanField(default=False, editable=False)
    first_polled_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_polled_at = models.DateTimeField("last read", null=True, blank=True, editable=False)
    fetched_through = models.DateTimeField(null=True, blank=True, editable=False)
    next_poll_at = models.DateTimeField("next reading", default=timezone.now)
    failures = models.PositiveIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    warning = models.TextField(blank=True, default="", editable=False)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    objects = FeedQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                name="feed_leased_whole",
                condition=Q(lease_token=None, lease_until=None)
                | Q(lease_token__isnull=False, lease_until__isnull=False),
            ),
            models.CheckConstraint(
                name="feed_delays_in_order", condition=Q(max_delay_minutes__gte=F("min_delay_minutes"))
            ),
        )
        indexes = (models.Index(name="feed_due", fields=["next_poll_at"], condition=Q(status="active")),)

    def __str__(self) -> str:
        return self.title or self.url

    @property
    def health(self) -> str:
        """active, failing, paused, stopped or held: one word for lists."""
        return "failing" if self.status == self.Status.ACTIVE and self.failures else self.status
