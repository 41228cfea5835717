"""A lane: the deliveries of one outgoing account, with its limits, and what they were used for so far."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.secrets import SecretsField
from delivery.rules.limits import Bucket, LaneLimits, WarmUp


class ServiceBreaker(models.Model):
    """One service's refusals of the last minutes, of all processes together, and its rest if it has one.

    There is a row from its first refusal on. `channels.rules.breakers` says what the times mean.
    """

    service = models.CharField(max_length=20, unique=True)
    # [minute in ISO 8601, how many] of each minute that still counts.
    recent = models.JSONField(default=list)
    # Nothing goes there before. While it is tried slowly, each message moves this on.
    rests_until = models.DateTimeField(null=True)
    slow_until = models.DateTimeField(null=True)
    # Since when it has been in trouble: rests that follow each other are one trouble.
    since = models.DateTimeField(null=True)
    said = models.TextField(default="")

    def __str__(self) -> str:
        return self.service


MOST_CONNECTIONS = 100


class Limits(models.Model):
    """What an account, or one domain's part of it, may be asked to carry. Empty: no limit.

    The token bucket stands in the row: every claim takes its tokens in the same transaction.
    """

    rate = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.001)],
        help_text="Messages a second, such as 10 or 0.5; empty: no limit.",
    )
    burst = models.PositiveIntegerField(
        default=10, validators=[MinValueValidator(1)], help_text="How many may go at once after a rest."
    )
    per_hour = models.PositiveIntegerField(
        "most in an hour", null=True, blank=True, validators=[MinValueValidator(1)]
    )
    per_day = models.PositiveIntegerField(
        "most in 24 hours", null=True, blank=True, validators=[MinValueValidator(1)]
    )
    warm_up_from = models.DateField(
        "warm up from",
        null=True,
        blank=True,
        help_text="A new account or address begins slowly: so many on this day, and more each day after it.",
    )
    warm_up_first = models.PositiveIntegerField(
        "messages on the first day", default=50, validators=[MinValueValidator(1)]
    )
    warm_up_growth = models.FloatField(
        "times as many each day",
        default=1.5,
        validators=[MinValueValidator(1.05), MaxValueValidator(10)],
        help_text="It ends where the most in 24 hours is reached, or at a million.",
    )
    paused = models.BooleanField(default=False)
    paused_reason = models.TextField(blank=True, default="")
    tokens = models.FloatField(default=0, editable=False)
    refilled_at = models.DateTimeField(default=timezone.now, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    free_at = models.DateTimeField("rests until", null=True, blank=True, editable=False)
    # Since when our letters are refused because of ourselves.
    refused_since = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def limits(self) -> LaneLimits:
        """As the rules take them."""
        warm_up = None
        if self.warm_up_from is not None:
            zone = timezone.get_default_timezone()
            warm_up = WarmUp(self.warm_up_from, self.warm_up_first, self.warm_up_growth, zone)
        return LaneLimits(
            bucket=Bucket(self.rate, self.burst, self.tokens, self.refilled_at),
            per_hour=self.per_hour,
            per_day=self.per_day,
            warm_up=warm_up,
            concurrency=self.concurrency if isinstance(self, LaneDomain) else None,
            paused=self.paused,
            free_at=self.free_at,
        )


class Lane(Limits):
    """Deliveries of one outgoing account: an SMTP account, a Mastodon account, a Discord channel."""

    kind = models.CharField(max_length=20)
    account = models.CharField(max_length=700)
    # The lane of the account that this one shares with others: its limits hold for all of them together.
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="parts", editable=False
    )
    # What its sessions want kept, such as tokens that a service renews.
    state = SecretsField(db_default="")
    serial = models.BooleanField(default=False, help_text="One at a time, in order.")
    concurrency = models.PositiveIntegerField(
        "connections",
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_CONNECTIONS)],
        help_text="Open at once, in all workers together.",
    )
    messages_per_connection = models.PositiveIntegerField(
        default=100, validators=[MinValueValidator(1)], help_text="Then it is closed and another is opened."
    )
    spacing_seconds = models.FloatField(
        default=0, validators=[MinValueValidator(0)], help_text="Pause after each message."
    )
    # Of messages that cost: what is over it waits for the next day (delivery.lanes.recipients).
    per_recipient = models.PositiveIntegerField(
        "most to one recipient in a day",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="A day of UTC. What is over it waits for the next one; empty: no limit.",
    )
    failures = models.PositiveIntegerField(default=0, editable=False)
    # Where the server takes fewer connections: how many, since when, and what it said to one more.
    server_takes = models.PositiveIntegerField(null=True, blank=True, editable=False)
    server_takes_since = models.DateTimeField(null=True, blank=True, editable=False)
    server_said = models.TextField(blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ("kind", "account")
        constraints = (models.UniqueConstraint(name="lane_identity", fields=["kind", "account"]),)

    def __str__(self) -> str:
        return f"{self.kind}: {self.account}"

    @property
    def name(self) -> str:
        """As commands call it."""
        return self.account if self.kind == "email" else f"{self.kind}:{self.account}"

    @property
    def is_recovering(self) -> bool:
        """Whether it, or the account that it shares, had to stop, and is not known to be well again."""
        return bool(self.failures or (self.parent is not None and self.parent.failures))

    @property
    def width(self) -> int:
        """Connections that may be open at once now: its number, or as many as the server takes."""
        return min(self.concurrency, self.server_takes or self.concurrency)


class LaneDomain(Limits):
    """A recipients' domain with limits of its own, or one that is paused. Few have a row."""

    lane = models.ForeignKey(Lane, on_delete=models.CASCADE, related_name="domains")
    domain = models.CharField(max_length=255, help_text="Such as gmail.com, as it stands after the @.")
    concurrency = models.PositiveIntegerField(
        "messages at once", null=True, blank=True, validators=[MinValueValidator(1)]
    )
    # Rests in a row, since its letters are refused because of ourselves.
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # What was over the limit is due again until then: more of it queues up behind.
    put_off_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("lane", "domain")
        verbose_name = "limits of a domain"
        verbose_name_plural = "limits of domains"
        constraints = (models.UniqueConstraint(name="lane_domain_identity", fields=["lane", "domain"]),)

    def __str__(self) -> str:
        return f"{self.domain} in {self.lane}"


class LaneUse(models.Model):
    """How many messages were claimed in a minute: what the windows of an hour and a day are summed from.

    `domain` is empty for the lane's own sum. Written only where such a limit is set.
    """

    lane = models.ForeignKey(Lane, on_delete=models.CASCADE, related_name="uses")
    domain = models.CharField(max_length=255, blank=True, default="")
    minute = models.DateTimeField()
    count = models.IntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(name="lane_use_once", fields=["lane", "domain", "minute"]),)

    def __str__(self) -> str:
        return f"{self.count} at {self.minute}"


class LaneShare(models.Model):
    """How many of a lane's connections one worker may open, until its lease ends."""

    lane = models.ForeignKey(Lane, on_delete=models.CASCADE, related_name="shares")
    holder = models.UUIDField()
    connections = models.PositiveIntegerField()
    until = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(name="lane_share_once", fields=["lane", "holder"]),
            models.CheckConstraint(name="lane_share_bounded", condition=Q(connections__lte=MOST_CONNECTIONS)),
        )

    def __str__(self) -> str:
        return f"{self.connections} of {self.lane}"
