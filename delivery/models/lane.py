"""Lanes: outgoing accounts with limits and use.

DKIM keys.
"""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from channels.email.dkim.keys import ED25519, RSA, DkimRecord, record_of
from common.secrets import SecretsField
from delivery.rules.limits import Bucket, LaneLimits, WarmUp

MOST_CONNECTIONS = 100


class ServiceBreaker(models.Model):
    """A service's refusals in the last minutes, across processes, and its rest, if any.

    Exists from the first refusal on. `channels.rules.meaning` explains the times.
    """

    service = models.CharField(max_length=20, unique=True)
    # [minute in ISO 8601, count] of each minute that still counts.
    recent = models.JSONField(default=list)
    # Nothing is sent before. During slow retries, each message postpones it.
    rests_until = models.DateTimeField(null=True)
    slow_until = models.DateTimeField(null=True)
    # Start of the trouble; consecutive rests are one.
    since = models.DateTimeField(null=True)
    said = models.TextField(default="")

    def __str__(self) -> str:
        return self.service


class Limits(models.Model):
    """Limits of an account, or of one domain's part of it. Empty: none.

    The token bucket is in the row, so a claim takes its tokens in the same transaction.
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
    # Since when letters are refused because of us.
    refused_since = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def limits(self) -> LaneLimits:
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
    """Outgoing account with its deliveries: SMTP, a Mastodon account, a Discord channel."""

    kind = models.CharField(max_length=20)
    account = models.CharField(max_length=700)
    # Lane of the shared account, whose limits apply to all its parts together.
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="parts", editable=False
    )
    # Persistent state of sessions, such as renewed tokens.
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
    # For paid messages: the rest waits for the next day (delivery.lanes.limits).
    per_recipient = models.PositiveIntegerField(
        "most to one recipient in a day",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="A day of UTC. What is over it waits for the next one; empty: no limit.",
    )
    failures = models.PositiveIntegerField(default=0, editable=False)
    # How many are opened now, of a lane that grows while its server answers well. None: all.
    grown = models.PositiveIntegerField(null=True, blank=True, editable=False)
    # If the server limits connections: how many, since when, and its error for one more.
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
        """Return the name used by commands."""
        return self.account if self.kind == "email" else f"{self.kind}:{self.account}"

    @property
    def is_recovering(self) -> bool:
        """Return whether it, or its shared account, stopped and is not known to work again."""
        return bool(self.failures or (self.parent is not None and self.parent.failures))

    @property
    def width(self) -> int:
        """Return how many connections may be open, at most what the server takes."""
        most = self.concurrency
        return min(most, self.server_takes or most, self.grown or most)


class LaneDomain(Limits):
    """Domain of recipients with its own limits, or paused. Few have a row."""

    lane = models.ForeignKey(Lane, on_delete=models.CASCADE, related_name="domains")
    domain = models.CharField(max_length=255, help_text="The part after the @, such as gmail.com.")
    concurrency = models.PositiveIntegerField(
        "messages at once", null=True, blank=True, validators=[MinValueValidator(1)]
    )
    # Consecutive rests since letters are refused because of us.
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Rows over the limit are due again then: more queue up behind them.
    put_off_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("lane", "domain")
        verbose_name = "limits of a domain"
        verbose_name_plural = "limits of domains"
        constraints = (models.UniqueConstraint(name="lane_domain_identity", fields=["lane", "domain"]),)

    def __str__(self) -> str:
        return f"{self.domain} in {self.lane}"


class LaneUse(models.Model):
    """Messages claimed in a minute, to be summed over an hour and a day.

    An empty `domain` is the lane's sum. Written only if there is such a limit.
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
    """How many of a lane's connections one worker may open until its lease ends."""

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


class DkimKey(models.Model):
    """Key of a domain. The active one of each algorithm signs; others are waiting or retired."""

    class Algorithm(models.TextChoices):
        RSA = RSA, "RSA"
        ED25519 = ED25519, "Ed25519"

    domain = models.CharField(max_length=253)
    selector = models.CharField(max_length=100)
    algorithm = models.CharField(max_length=7, choices=Algorithm, default=Algorithm.RSA)
    # {"pem": the private key}. Leaves the database only to sign.
    private = SecretsField()
    # p= of the DNS record.
    public = models.TextField(editable=False)
    active = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("domain", "algorithm", "-active", "-pk")
        verbose_name = "DKIM key"
        constraints = (
            models.UniqueConstraint(name="dkim_key_identity", fields=["domain", "selector"]),
            models.UniqueConstraint(
                name="dkim_key_one_active", fields=["domain", "algorithm"], condition=Q(active=True)
            ),
            models.CheckConstraint(
                name="dkim_key_retired_is_not_active", condition=Q(active=False) | Q(retired_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.selector} of {self.domain}"

    @property
    def state(self) -> str:
        """Return "active", "waiting" (never used) or "retired"."""
        if self.active:
            return "active"
        return "retired" if self.retired_at else "waiting"

    @property
    def record(self) -> DkimRecord:
        return record_of(
            domain=self.domain, selector=self.selector, algorithm=self.algorithm, public=self.public
        )
