from datetime import time
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from feeds.models import Feed, Item
from subscriptions.rules.post_rules import InvalidRule, Rule, check_rule, sentence
from subscriptions.rules.schedule import ARRANGEMENTS, Schedule
from subscriptions.rules.switches import Rhythm

NAME = RegexValidator(
    r"\A[A-Za-z0-9._-]{1,64}\Z", "Use 1 to 64 letters, digits, dots, dashes or underscores, without spaces."
)


HOW_MANY_POSTS = "Say how many posts an issue has: 1 to 1000."
A_WEEK = 7 * 24 * 60
LONGEST_APPROVAL = 30 * 24 * 60
USUAL_SERIES_TIME = time(8)
HOW_LONG_TO_WAIT = f"Say after how many minutes it is sent: 1 to {LONGEST_APPROVAL:,}, which is 30 days."


def between(least: int, most: int, message: str) -> list[Any]:
    return [MinValueValidator(least, message), MaxValueValidator(most, message)]


class SubscribableQuerySet(models.QuerySet["Subscribable"]):
    def listed(self) -> Self:
        return self.filter(visibility="public", stopped=False)

    def with_pages(self) -> Self:
        return self.exclude(visibility="private")

    def named(self, *names: str) -> Self:
        """Filter by names from strangers. PostgreSQL raises an error for NUL."""
        return self.filter(name__in=[name for name in names if "\0" not in name])

    def once_named(self, name: str) -> Self:
        """Filter by a name of upstream's forms, from strangers."""
        return self.none() if "\0" in name else self.filter(old_names__name=name)

    def siblings_of(self, newsletter: "Subscribable") -> Self:
        """Filter others with exactly the same feeds and channel."""
        return self.with_feeds_of(newsletter).filter(channel=newsletter.channel).exclude(pk=newsletter.pk)

    def with_feeds_of(self, newsletter: "Subscribable") -> Self:
        """Filter those with exactly the same feeds."""
        feeds: Any = newsletter.feeds.through.objects.filter(subscribable=newsletter)
        number = feeds.order_by().values("subscribable").annotate(number=models.Count("pk")).values("number")
        theirs = models.Count("feeds", distinct=True)
        shared = models.Count("feeds", distinct=True, filter=Q(feeds__in=feeds.values("feed")))
        counted = self.annotate(theirs=theirs, shared=shared)
        return counted.filter(theirs=models.F("shared"), shared=Coalesce(models.Subquery(number), 0))


class Subscribable(models.Model):
    """Newsletter or bridge: arrangement (when a collection closes), channel and format."""

    class Arrangement(models.TextChoices):
        EACH = "each", "every post"
        DAILY = "daily", "daily"
        WEEKLY = "weekly", "weekly"
        MONTHLY = "monthly", "monthly"
        EVERY_N = "every_n", "every few posts"
        CRON = "cron", "custom schedule"

    class Weekday(models.IntegerChoices):
        MONDAY = 0, "Monday"
        TUESDAY = 1, "Tuesday"
        WEDNESDAY = 2, "Wednesday"
        THURSDAY = 3, "Thursday"
        FRIDAY = 4, "Friday"
        SATURDAY = 5, "Saturday"
        SUNDAY = 6, "Sunday"

    class Visibility(models.TextChoices):
        PUBLIC = "public", "public: listed, with an archive"
        UNLISTED = "unlisted", "unlisted: only people with the link find it"
        PRIVATE = "private", "private: no page, no archive"

    class SignUp(models.TextChoices):
        OPEN = "open", "open: anyone can subscribe"
        CLOSED = "closed", "closed: only you add subscribers"

    class Approval(models.TextChoices):
        NONE = "none", "send automatically"
        CLICK = "click", "wait for my approval"
        DELAY = "delay", "send after a delay, unless I stop it"

    class PostOrder(models.TextChoices):
        NEWEST = "newest", "newest first"
        OLDEST = "oldest", "oldest first"
        TITLE = "title", "by title"

    class Content(models.TextChoices):
        FULL = "full", "full posts"
        EXCERPT = "excerpt", "a picture and the first lines"
        TITLES = "titles", "titles only"

    class Welcome(models.TextChoices):
        NONE = "none", "nothing"
        WORDS = "words", "a short email"
        LATEST = "latest", "the latest issue"
        SERIES = "series", "a series of emails"

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[NAME],
        help_text="Part of its address and of commands, such as example-weekly.",
    )
    title = models.CharField(max_length=200, blank=True, default="", help_text="Subscribers see this name.")
    description = models.TextField(
        blank=True, default="", max_length=10_000, help_text="One or two sentences about it, for its page."
    )
    feeds = models.ManyToManyField(Feed, related_name="subscribables")
    channel = models.CharField(max_length=20, default="email", help_text="Such as email.")
    stopped = models.BooleanField(
        default=False, help_text="Takes no new posts. Its open issue is still sent."
    )

    arrangement = models.CharField("how often", max_length=10, choices=Arrangement, default=Arrangement.EACH)
    n = models.PositiveIntegerField(
        "posts per issue",
        null=True,
        blank=True,
        validators=between(1, 1000, HOW_MANY_POSTS),
        help_text="every_n: how many posts an issue has.",
    )
    max_wait_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=between(1, 3650, "The longest wait is 1 to 3650 days."),
        help_text="every_n: a shorter issue is sent after this many days.",
    )
    at = models.TimeField(
        default=time(0), help_text="daily, weekly, monthly: when it is sent, such as 07:00."
    )
    weekday = models.PositiveSmallIntegerField(choices=Weekday, default=Weekday.MONDAY)
    day_of_month = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(31)],
        help_text="monthly: 29 to 31 mean the last day in shorter months.",
    )
    cron = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="cron: minute hour day month weekday, such as “0 7 * * 1,4”.",
    )
    time_zone = models.CharField(max_length=64, default="UTC", help_text="Such as America/New_York.")
    grace_minutes = models.PositiveIntegerField(
        default=60,
        validators=[MaxValueValidator(A_WEEK, f"At most {A_WEEK} minutes, which is a week.")],
        help_text="How long an issue waits for a feed that can’t be read.",
    )
    # Every n: number of the open or next collection.
    counter = models.PositiveBigIntegerField(default=1, editable=False)
    # No later collection starts before it.
    issued_through = models.DateTimeField(null=True, blank=True, editable=False)
    last_completed_wti = models.CharField(max_length=64, blank=True, default="", editable=False)

    # The first issue waits for a confirmed subscriber.
    awaits_first_reader = models.BooleanField(default=False, db_default=False, editable=False)

    approval = models.CharField("approval", max_length=5, choices=Approval, default=Approval.NONE)
    approval_minutes = models.PositiveIntegerField(
        "delay in minutes",
        null=True,
        blank=True,
        validators=between(1, LONGEST_APPROVAL, HOW_LONG_TO_WAIT),
        help_text="delay: how long you have to check it.",
    )
    # By an admin, or when mail servers refuse us. Letters in transit wait.
    sending_paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    sending_paused_reason = models.TextField(blank=True, default="", editable=False)

    content = models.CharField(
        "posts as",
        max_length=7,
        choices=Content,
        default=Content.FULL,
        db_default=Content.FULL,
        help_text="How much of each post an email shows. Each title links to the whole post.",
    )
    post_order = models.CharField("order of posts", max_length=6, choices=PostOrder, default=PostOrder.NEWEST)
    max_posts = models.PositiveIntegerField(
        "most posts in an issue",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text="Further posts are listed by title. Empty: no limit.",
    )
    tells_corrections = models.BooleanField(
        "tell corrections",
        default=False,
        db_default=False,
        help_text="Its next issue shows what was corrected in posts that were already sent.",
    )
    hooks = models.CharField(
        "own code",
        max_length=200,
        blank=True,
        default="",
        help_text="Dotted path of a Python module with hooks, such as my_hooks.weekly.",
    )

    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    sign_up = models.CharField(max_length=10, choices=SignUp, default=SignUp.OPEN)
    welcome = models.CharField(
        "after confirming",
        max_length=6,
        choices=Welcome,
        default=Welcome.NONE,
        help_text="What a new subscriber gets.",
    )
    series_at = models.TimeField(
        "time of the series",
        null=True,
        blank=True,
        help_text="series: when its emails are sent, where the subscriber lives. Empty: at the newsletter’s"
        " time, or 08:00.",
    )
    series_first = models.BooleanField(
        "series first",
        default=False,
        db_default=False,
        help_text="series: the newsletter itself begins after the series.",
    )
    farewell_mail = models.BooleanField(
        "goodbye email", default=False, help_text="Sent after somebody unsubscribes."
    )
    embed_hosts = models.TextField(
        "your sites",
        max_length=5000,
        blank=True,
        default="",
        help_text="Sites that show your sign-up form, one per line, such as blog.example.org.",
    )
    challenge = models.BooleanField(
        "challenge",
        default=False,
        help_text="Browsers solve a small puzzle before they send the form. Keeps robots away.",
    )
    keep_ip = models.BooleanField(
        "keep the IP address",
        default=False,
        help_text="Stored with the proof of consent. Mention it in your privacy policy.",
    )
    # In addition to its own channel.
    offers_devices = models.BooleanField(
        "offer notifications on devices",
        default=False,
        db_default=False,
        help_text="Its page offers a notification of each issue on a phone or computer.",
    )
    # Made for this channel (key) of the reader app, whose owner it is sent to.
    reader_channel = models.BigIntegerField(null=True, editable=False, unique=True)
    # Keys of channels that other apps switch on, separated by spaces.
    companions = models.CharField(max_length=100, blank=True, default="", db_default="", editable=False)
    language = models.CharField(
        max_length=35, blank=True, default="en", help_text="Language of its emails, such as en."
    )
    from_email = models.CharField(
        "from", max_length=320, blank=True, default="", help_text="Such as Example <news@example.org>."
    )
    reply_to = models.CharField(max_length=320, blank=True, default="")
    template = models.CharField(
        max_length=64, blank=True, default="", help_text="Name of an email template. Empty: the default."
    )
    options = models.JSONField(default=dict, blank=True, help_text="Further settings of the channel.")
    params = models.JSONField(
        default=dict, blank=True, help_text="Extra parameters: each is a %Field% in templates."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SubscribableQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        verbose_name = "newsletter"
        constraints = (
            models.CheckConstraint(
                name="subscribable_n_with_every_n",
                condition=Q(arrangement="every_n", n__gte=1) | (~Q(arrangement="every_n") & Q(n=None)),
            ),
            models.CheckConstraint(
                name="subscribable_cron_with_cron",
                condition=(Q(arrangement="cron") & ~Q(cron="")) | (~Q(arrangement="cron") & Q(cron="")),
            ),
        )

    def __str__(self) -> str:
        return self.title or self.name

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.arrangement, self.at, self.weekday, self.day_of_month, self.cron)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @property
    def rhythm(self) -> Rhythm:
        return Rhythm(self.schedule, self.zone, self.n)

    @property
    def series_time(self) -> time:
        """Return when emails of the series are sent, on the subscriber’s clock."""
        own = self.at if "at" in ARRANGEMENTS[self.arrangement] else USUAL_SERIES_TIME
        return self.series_at or own

    @property
    def has_series_first(self) -> bool:
        return self.series_first and self.welcome == self.Welcome.SERIES

    @property
    def active_rules(self) -> tuple[Rule, ...]:
        return tuple(row.rule for row in self.post_rules.all() if row.active)


class PostRule(models.Model):
    """A post that matches a drop rule is left out. If there are keep rules, it must match one."""

    class Action(models.TextChoices):
        KEEP = "keep", "keep only posts"
        DROP = "drop", "leave out posts"
        REPLACE = "replace", "replace in posts"

    class Field(models.TextChoices):
        ANY = "any", "anything"
        TITLE = "title", "title"
        AUTHOR = "author", "author"
        CATEGORY = "category", "category"
        CONTENT = "content", "text"
        LINK = "link", "link"

    class Test(models.TextChoices):
        CONTAINS = "contains", "contains"
        EQUALS = "equals", "is"
        MATCHES = "matches", "matches the regular expression"

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="post_rules")
    position = models.PositiveIntegerField(default=0)
    action = models.CharField(max_length=8, choices=Action, default=Action.DROP)
    field = models.CharField("whose", max_length=8, choices=Field, default=Field.ANY)
    test = models.CharField("what", max_length=8, choices=Test, default=Test.CONTAINS)
    pattern = models.CharField("this", max_length=500)
    replacement = models.CharField(
        max_length=500, blank=True, default="", help_text=r"For “replace”; \1 is the first group."
    )
    active = models.BooleanField(default=True)
    # Why it could not judge a post.
    trouble = models.TextField(blank=True, default="", editable=False)
    trouble_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("subscribable", "position", "pk")
        verbose_name = "rule for posts"
        verbose_name_plural = "rules for posts"

    def __str__(self) -> str:
        return sentence(self.rule)

    def clean(self) -> None:
        """Raise ValidationError with the field."""
        try:
            check_rule(self.rule)
        except InvalidRule as error:
            raise ValidationError({error.field: str(error)}) from error

    @property
    def rule(self) -> Rule:
        return Rule(self.action, self.field, self.test, self.pattern, self.replacement, key=self.pk or 0)


class OldName(models.Model):
    """Name in upstream's sign-up forms of a newsletter that has another name here."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="old_names")
    name = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return self.name


class LeftOut(models.Model):
    """Post that a newsletter did not take, with the reason."""

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="left_out")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="left_out")
    reason = models.TextField()
    # By an editor, who can put it back until the issue is sent.
    by_hand = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-at", "-pk")
        constraints = (models.UniqueConstraint(name="left_out_once", fields=["subscribable", "item"]),)

    def __str__(self) -> str:
        return f"{self.item} not in {self.subscribable}"


class FailedAssignment(models.Model):
    """Final post that could not be assigned, and the next attempt."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="stuck")
    failures = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    last_error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("next_try_at", "pk")

    def __str__(self) -> str:
        return f"{self.item}: {self.last_error}"
