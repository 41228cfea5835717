from datetime import datetime
from typing import Self

from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from common.db.leases import unleased
from common.secrets import SecretsField

A_MONTH = 31 * 24 * 60
HEALTH = ("active", "failing", "held", "paused", "stopped")
# Fields that people set, for forms, commands and the API.
DELAYS = ("min_delay_minutes", "await_stabilization_minutes", "max_delay_minutes")
TIMES = (*DELAYS, "recheck_every_minutes")
# For many feeds at once.
SHARED = frozenset((TIMES[-1], "pace", "ceiling_minutes", "hold_floods", "use_hub"))
SWITCHES = ("hold_floods", "join_reposts", "use_hub", "fetch_whole")
SETTINGS = ("title", *TIMES, "pace", "ceiling_minutes", *SWITCHES)


class Tag(models.Model):
    name = models.CharField(max_length=100, unique=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Host(models.Model):
    """One worker at a time reads a host's feeds, so that limits hold across workers.

    `free_at`: earliest next request, after a gap or a wish (429).
    """

    name = models.CharField(max_length=255, unique=True)
    free_at = models.DateTimeField(null=True, blank=True)
    # Of pages, which must not delay its feeds.
    page_free_at = models.DateTimeField(null=True, blank=True, editable=False)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                name="host_leased_whole",
                condition=Q(lease_token=None, lease_until=None)
                | Q(lease_token__isnull=False, lease_until__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.name


def minutes_field(default: int, help_text: str) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        default=default, validators=[MaxValueValidator(A_MONTH)], help_text=help_text
    )


class FeedQuerySet(models.QuerySet["Feed"]):
    def watched(self) -> Self:
        return self.filter(status="active")

    def in_health(self, word: str) -> Self:
        match word:
            case "failing":
                return self.watched().filter(failures__gt=0)
            case "held":
                return self.watched().filter(failures=0, held_since__isnull=False)
            case "active":
                return self.watched().filter(failures=0, held_since=None)
            case _:
                return self.filter(status=word)

    def unleased(self, now: datetime) -> Self:
        return self.filter(unleased(now))

    def later(self, now: datetime) -> Self:
        return self.watched().filter(failures=0, next_poll_at__gt=now)

    def due(self, now: datetime) -> Self:
        return self.watched().unleased(now).filter(next_poll_at__lte=now)


class Feed(models.Model):
    """`fetched_through` is just before the last successful request."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        PAUSED = "paused", "paused"
        STOPPED = "stopped", "stopped"

    class Pace(models.TextChoices):
        FIXED = "fixed", "at a fixed interval"
        ADAPTIVE = "adaptive", "as often as it publishes"

    class Start(models.TextChoices):
        FROM_NOW = "from_now", "from now on"
        LAST = "last", "the last few, then from now on"
        ALL = "all", "everything in the feed"

    url = models.TextField("address", max_length=4000, help_text="For example https://example.org/feed.xml")
    title = models.TextField(
        blank=True, default="", max_length=1000, help_text="Empty: the title in the feed."
    )
    site_url = models.TextField("web site", blank=True, default="")
    # Default of new newsletters.
    description = models.TextField(blank=True, default="", db_default="", editable=False)
    language = models.CharField(max_length=35, blank=True, default="")
    # Of nearly all summaries (feeds.rules.boilerplate).
    boilerplate_start = models.TextField(blank=True, default="", db_default="", editable=False)
    boilerplate_end = models.TextField(blank=True, default="", db_default="", editable=False)
    tags = models.ManyToManyField(Tag, blank=True, related_name="feeds")
    # {"user", "password"} for basic authentication, or {"header", "value"}.
    credentials = SecretsField()
    added_at = models.DateTimeField("added", default=timezone.now)
    start = models.CharField(
        "send",
        max_length=10,
        choices=Start,
        default=Start.FROM_NOW,
        help_text="Which of the posts already in the feed are sent.",
    )
    start_count = models.PositiveIntegerField(
        "how many", default=0, help_text="With “the last few”: how many posts, newest first."
    )
    min_delay_minutes = minutes_field(30, "A post is never sent earlier than this after it was first seen.")
    await_stabilization_minutes = minutes_field(15, "A post must have stayed unchanged this long.")
    max_delay_minutes = minutes_field(180, "A post that keeps changing is sent after this all the same.")
    recheck_every_minutes = minutes_field(
        10, "How often the feed is read. 0 reads it at most once a minute (for feeds that ping)."
    )
    pace = models.CharField(
        "read",
        max_length=10,
        choices=Pace,
        default=Pace.FIXED,
        help_text="fixed: at its interval; adaptive: as often as it publishes.",
    )
    ceiling_minutes = minutes_field(
        60, "The longest interval that its own rhythm, its server’s wishes or a hub may lead to."
    )
    # After a restore from a backup: posts of the next reading may have been sent.
    hold_next = models.BooleanField(default=False, editable=False)
    # Another program read it, and may have sent posts of the next reading.
    read_elsewhere_until = models.DateTimeField(null=True, blank=True, editable=False)
    hold_floods = models.BooleanField(
        "hold floods",
        default=True,
        help_text="Ask before sending if over 10 posts, and over half of the feed, are new at once.",
    )
    join_reposts = models.BooleanField(
        "recognise reposts",
        default=True,
        help_text="A post that reappears under a new id at the same address isn’t sent again.",
    )
    use_hub = models.BooleanField(
        "let its hub tell us",
        default=True,
        help_text="New posts arrive at once if the feed names a hub (WebSub).",
    )
    fetch_whole = models.BooleanField(
        "fetch whole posts",
        default=False,
        db_default=False,
        help_text="For feeds of excerpts: the text is read from each new post’s page.",
    )

    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    # Deleted when its last post has been sent.
    dropping = models.BooleanField(default=False, editable=False)
    first_polled_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_polled_at = models.DateTimeField("last read", null=True, blank=True, editable=False)
    fetched_through = models.DateTimeField(null=True, blank=True, editable=False)
    next_poll_at = models.DateTimeField("next reading", default=timezone.now)
    # Key of feeds.rules.item_status.
    next_poll_why = models.CharField(max_length=12, blank=True, default="", editable=False)
    host = models.CharField(max_length=255, blank=True, default="", editable=False)
    newest_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Median gap of the latest posts.
    rhythm_minutes = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # A permanent redirect counts after several readings.
    moved_to = models.TextField(blank=True, default="", editable=False)
    moved_polls = models.PositiveIntegerField(default=0, editable=False)
    # Consecutive readings in which all unsettled posts had changed: by a clock or an ad.
    restless_polls = models.PositiveIntegerField(default=0, editable=False)
    held_since = models.DateTimeField(null=True, blank=True, editable=False)
    # Floods are no longer held, as an admin sent one.
    floods_sent_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Of its last TrackedItem.
    tracked_until = models.DateTimeField(null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    # Consecutive answers 410.
    gone_polls = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    gone_since = models.DateTimeField(null=True, blank=True, editable=False)
    # Failing was mailed to the admins; they also get mail when it recovers.
    alerted_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    warning = models.TextField(blank=True, default="", editable=False)
    # False: added by people who read here. Posts are not sent until a newsletter takes the feed.
    for_letters = models.BooleanField(default=True, db_default=True, editable=False)
    # Readers' channels. Without any, their audience is not called.
    read_by = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    unread_since = models.DateTimeField(null=True, blank=True, editable=False)
    # Since then the audience lacks readings (feeds.polling.audience).
    audience_behind_since = models.DateTimeField(null=True, blank=True, editable=False)
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
        indexes = (
            models.Index(name="feed_due", fields=["next_poll_at"], condition=Q(status="active")),
            models.Index(name="feed_dropping", fields=["id"], condition=Q(dropping=True)),
            models.Index(name="feed_host", fields=["host"], condition=Q(status="active")),
            models.Index(
                name="feed_audience_behind", fields=["id"], condition=Q(audience_behind_since__isnull=False)
            ),
            models.Index(name="feed_only_read", fields=["id"], condition=Q(for_letters=False)),
            models.Index(
                name="feed_in_trouble",
                fields=["id"],
                condition=Q(failures__gt=0) | Q(held_since__isnull=False) | Q(alerted_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.title or self.url

    @property
    def health(self) -> str:
        if self.status != self.Status.ACTIVE:
            return self.status
        if self.failures:
            return "failing"
        return "held" if self.held_since else self.status

    def is_tracked(self, moment: datetime) -> bool:
        return self.tracked_until is not None and moment <= self.tracked_until


class HubSubscription(models.Model):
    """Verified by the hub, renewed before `expires_at`; `token` is in the callback's address."""

    class State(models.TextChoices):
        WANTED = "wanted", "to be asked for"
        PENDING = "pending", "asked for"
        ACTIVE = "active", "active"
        DENIED = "denied", "denied by the hub"
        LEAVING = "leaving", "to be ended"

    # Null once removed: the row remains until unsubscribed.
    feed = models.OneToOneField(Feed, on_delete=models.SET_NULL, null=True, related_name="hub_subscription")
    hub = models.TextField(max_length=4000)
    topic = models.TextField(max_length=4000)
    made_at = models.DateTimeField(default=timezone.now)
    token = models.CharField(max_length=64, unique=True)
    secret = SecretsField()
    state = models.CharField(max_length=10, choices=State, default=State.WANTED)
    expires_at = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")
    last_push_at = models.DateTimeField(null=True, blank=True)
    # Digests of the latest pushes, as hubs and eavesdroppers may repeat them.
    seen = models.JSONField(default=list, blank=True)
    # Pushes with a wrong or missing signature.
    refused = models.PositiveIntegerField(default=0)
    # Readings since the last push that found new posts.
    missed = models.PositiveIntegerField(default=0)
    # A reading that begins later must replace a push that was not stored.
    owed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(name="hub_next", fields=["next_at"]),)

    def __str__(self) -> str:
        return f"{self.state} at {self.hub}"
