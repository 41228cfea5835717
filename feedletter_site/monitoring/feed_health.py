from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, DateTimeField, F, Q, When

from common.admin.html import ago, list_url, object_url
from common.text import shortened
from feeds.admin_words import next_reading
from feeds.models import Feed

TROUBLES_SHOWN = 8
LONGEST_ERROR = 200
# Without posts for this and four times the usual interval, a feed is quiet.
A_MONTH = timedelta(days=30)
USUAL_TIMES = 4
QUIET_SHOWN = 3
# Only the longest-silent feeds are checked for that.
QUIET_LOOKED_AT = 50

FAILING = Q(status="active", failures__gt=0)
GONE = Q(status="stopped", failures__gt=0, dropping=False)
HELD = Q(status="active", failures=0, held_since__isnull=False)
WELL = Q(status="active", failures=0, held_since=None)

# Name of the count, words, tone, and filter of the feed list.
PARTS = (
    ("well", "{:,} working", "good", "active"),
    ("failing", "{:,} failing", "bad", "failing"),
    ("held", "{:,} held for you", "wait", "held"),
    ("paused", "{:,} paused", "still", "paused"),
    ("stopped", "{:,} stopped", "still", "stopped"),
)


@dataclass(frozen=True, slots=True)
class HealthPart:
    words: str
    tone: str
    url: str


@dataclass(frozen=True, slots=True)
class FeedTrouble:
    name: str
    url: str
    wrong: str
    since: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """`more` feeds in trouble are not shown."""

    parts: tuple[HealthPart, ...]
    trouble: tuple[FeedTrouble, ...]
    more: int
    quiet: tuple[FeedTrouble, ...]


def feed_health(now: datetime) -> FeedHealth:
    """Uses a fixed number of queries."""
    counts = Feed.objects.aggregate(
        well=Count("pk", filter=WELL),
        failing=Count("pk", filter=FAILING),
        held=Count("pk", filter=HELD),
        paused=Count("pk", filter=Q(status="paused")),
        stopped=Count("pk", filter=Q(status="stopped")),
        ill=Count("pk", filter=FAILING | GONE | HELD),
    )
    parts = tuple(
        HealthPart(words.format(counts[name]), tone, list_url(Feed, health=health))
        for name, words, tone, health in PARTS
        if counts[name]
    )
    trouble = feeds_in_trouble(now) if counts["ill"] else []
    return FeedHealth(parts, tuple(trouble), counts["ill"] - len(trouble), tuple(quiet_feeds(now)))


def feeds_in_trouble(now: datetime) -> list[FeedTrouble]:
    ill_since = Case(
        When(HELD, then=F("held_since")), default=F("failing_since"), output_field=DateTimeField()
    )
    rows = Feed.objects.filter(FAILING | GONE | HELD).annotate(ill_since=ill_since)
    troubles = []
    for feed in rows.order_by(F("ill_since").asc(nulls_last=True), "pk")[:TROUBLES_SHOWN]:
        if feed.health == "held":
            wrong, since, coming = "Posts are held until you decide.", feed.held_since, ""
        else:
            wrong = shortened(feed.last_error, LONGEST_ERROR) or "It can’t be read."
            since, coming = feed.failing_since, "It’s no longer read."
            if feed.status != Feed.Status.STOPPED:
                words = next_reading(feed, now)
                coming = f"Next reading: {words[:1].lower()}{words[1:]}"
        lasts = f"for {ago(now - since)}" if since else ""
        troubles.append(FeedTrouble(str(feed), object_url(feed), wrong, lasts, coming))
    return troubles


def quiet_feeds(now: datetime) -> list[FeedTrouble]:
    rows = Feed.objects.filter(
        WELL, rhythm_minutes__isnull=False, newest_at__lt=now - A_MONTH, first_polled_at__lt=now - A_MONTH
    )
    feeds = []
    for feed in rows.order_by("newest_at", "pk")[:QUIET_LOOKED_AT]:
        silence = now - (feed.newest_at or feed.added_at)
        usual = timedelta(minutes=feed.rhythm_minutes or 0)
        if silence > max(A_MONTH, USUAL_TIMES * usual):
            length = f"{silence.days // 30} months" if silence.days >= 60 else f"{silence.days} days"
            feeds.append(FeedTrouble(str(feed), object_url(feed), f"has been quiet for {length}."))
    return feeds[:QUIET_SHOWN]
