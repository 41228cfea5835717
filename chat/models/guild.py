from typing import Self

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from feeds.models import Feed
from subscriptions.models import Subscribable


class BotSettings(models.Model):
    """Single row, also the lock for counts over all servers."""

    only_allowed = models.BooleanField(
        "only servers that you approve",
        default=False,
        help_text="Others can add the bot, but it only works after you approve their server.",
    )
    feeds_per_guild = models.PositiveIntegerField("feeds per server", default=20)
    feeds_in_all = models.PositiveIntegerField("feeds in all servers", default=5_000)
    posts_a_day = models.PositiveIntegerField(
        "posts per feed and day", default=100, help_text="Approximate. Further posts wait until midnight."
    )
    shortest_interval = models.PositiveIntegerField(
        "shortest interval",
        default=10,
        db_default=10,
        validators=[MinValueValidator(1)],
        help_text="In minutes. People can’t choose a shorter time for a feed.",
    )
    denied_hosts = models.TextField(
        "blocked hosts",
        blank=True,
        default="",
        help_text="One per line, such as ads.example. Subdomains are blocked too.",
    )

    class Meta:
        verbose_name = verbose_name_plural = "Discord bot"

    def __str__(self) -> str:
        return "Discord bot"

    def denies(self, host: str) -> bool:
        name = host.partition(":")[0].lower()
        denied = [line.strip().lower().lstrip(".") for line in self.denied_hosts.splitlines()]
        return any(name == one or name.endswith(f".{one}") for one in denied if one)


class Guild(models.Model):
    """Times are when we learnt of it."""

    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=100, blank=True, default="")
    # From Discord, and the choice of its people.
    locale = models.CharField(max_length=10, blank=True, default="")
    language = models.CharField(max_length=10, blank=True, default="")
    zone = models.CharField(max_length=64, default="UTC")
    log_channel = models.BigIntegerField(null=True, blank=True)
    feed_limit = models.PositiveIntegerField(
        "maximum number of feeds",
        null=True,
        blank=True,
        help_text="Leave empty for the limit of all servers.",
    )
    is_allowed = models.BooleanField("allowed", default=False)
    banned_at = models.DateTimeField("banned", null=True, blank=True, editable=False)
    added_at = models.DateTimeField("added", default=timezone.now, editable=False)
    removed_at = models.DateTimeField("left", null=True, blank=True, editable=False)
    why = models.TextField(blank=True, default="", editable=False)
    next_number = models.PositiveIntegerField(default=1, editable=False)
    asked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("name", "pk")
        verbose_name = "server"

    def __str__(self) -> str:
        return self.name or f"Server {self.pk}"

    def most_feeds(self, limits: BotSettings) -> int:
        return limits.feeds_per_guild if self.feed_limit is None else self.feed_limit


class BotFeed(models.Model):
    """Of the bot or lent by an operator. Servers share it."""

    feed = models.OneToOneField(Feed, on_delete=models.CASCADE, related_name="bot_feed")
    is_operators = models.BooleanField(default=False)
    # Not read since then; dropped after a month.
    unused_since = models.DateTimeField(null=True)

    class Meta:
        ordering = ("pk",)
        verbose_name = "feed of servers"
        verbose_name_plural = "feeds of servers"

    def __str__(self) -> str:
        return str(self.feed)


class GuildFeedQuerySet(models.QuerySet["GuildFeed"]):
    def present(self) -> Self:
        return self.filter(removed_at=None)


class GuildFeed(models.Model):
    """Feed in a channel. `number` is for the server's people."""

    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="guild_feeds")
    number = models.PositiveIntegerField()
    subscribable = models.OneToOneField(Subscribable, on_delete=models.CASCADE, related_name="guild_feed")
    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="guild_feeds")
    channel_id = models.BigIntegerField()
    # At Discord.
    added_by = models.BigIntegerField()
    added_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)
    # To recognize a repetition after a crash.
    interaction_id = models.BigIntegerField()
    # It reached the day's limit and waits for midnight.
    rests_until = models.DateTimeField(null=True)
    # Still to be posted at the start.
    first_posts = models.PositiveSmallIntegerField(default=0)
    # A shared feed is read at the shortest interval.
    every_minutes = models.PositiveIntegerField(null=True)

    objects = GuildFeedQuerySet.as_manager()

    class Meta:
        ordering = ("guild", "number")
        verbose_name = "feed of a server"
        verbose_name_plural = "feeds of servers"
        constraints = (
            models.UniqueConstraint(name="guild_feed_number", fields=["guild", "number"]),
            models.UniqueConstraint(
                name="guild_feed_once", fields=["guild", "feed", "channel_id"], condition=Q(removed_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.number} · {self.title}"

    @property
    def title(self) -> str:
        return str(self.subscribable)


class ServerAlert(models.Model):
    """Message about one trouble. A nonce from `key` prevents posting it twice."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        POSTED = "posted", "posted"
        FAILED = "failed", "could not be posted"

    class Decision(models.TextChoices):
        NEWEST = "newest", "send the newest three"
        ALL = "all", "send all"
        SKIP = "skip", "skip"

    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="alerts")
    guild_feed = models.ForeignKey(GuildFeed, on_delete=models.CASCADE, null=True, related_name="alerts")
    # held, failing, gone, refused or quota.
    trouble = models.CharField(max_length=10)
    key = models.CharField(max_length=100, unique=True)
    context = models.JSONField(default=dict)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(default=timezone.now)
    next_try_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")
    # channel/message
    remote_id = models.CharField(max_length=50, blank=True, default="")
    decision = models.CharField(max_length=6, choices=Decision, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    # When it was carried out.
    applied_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at",)
        verbose_name = "notice to a server"
        verbose_name_plural = "notices to servers"
        indexes = (
            models.Index(name="server_alert_due", fields=["next_try_at"], condition=Q(state="waiting")),
            models.Index(
                name="server_alert_open", fields=["created_at"], condition=Q(trouble="held", applied_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.trouble}: {self.guild_feed or self.guild}"
