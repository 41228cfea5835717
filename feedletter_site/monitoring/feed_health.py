"""How the feeds do, for the overview: counts, what is wrong with which, and who has gone quiet."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, DateTimeField, F, Q, QuerySet, When

from common.admin.html import ago, list_url, object_url
from common.text import shortened
from feeds.admin.words import next_reading
from feeds.models import Feed

SHOWN = 8
LONGEST_ERROR = 200
# A feed is quiet when nothing new has come for a month, and for four times as long as usual.
A_MONTH = timedelta(days=30)
USUAL_TIMES = 4
HINTS = 3
# The longest silent feeds that are looked at for whether that is unusual for them.
ASKED = 50

FAILING = Q(status="active", failures__gt=0)
GONE = Q(status="stopped", failures__gt=0, dropping=False)
HELD = Q(status="active", failures=0, held_since__isnull=False)
WELL = Q(status="active", failures=0, held_since=None)


@dataclass(frozen=True, slots=True)
class HealthPart:
    """How many feeds are in one state."""

    words: str
    tone: str
    url: str


@dataclass(frozen=True, slots=True)
class Ill:
    """A feed with what is wrong, since when, and what happens next."""

    name: str
    url: str
    wrong: str
    since: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """`more`: how many in trouble are not shown."""

    parts: tuple[HealthPart, ...]
    trouble: tuple[Ill, ...]
    more: int
    quiet: tuple[Ill, ...]


def feed_health(now: datetime) -> FeedHealth:
    """A fixed number of questions, whatever is stored."""
    counts = Feed.objects.aggregate(
        well=Count("pk", filter=WELL),
        failing=Count("pk", filter=FAILING),
        held=Count("pk", filter=HELD),
        paused=Count("pk", filter=Q(status="paused")),
        stopped=Count("pk", filter=Q(status="stopped")),
        ill=Count("pk", filter=FAILING | GONE | HELD),
    )
    trouble = tuple(_ill(feed, now) for feed in in_trouble()) if counts["ill"] else ()
    return FeedHealth(parts(counts), trouble, counts["ill"] - len(trouble), tuple(quiet(now)))


PARTS = (
    ("well", "{:,} read well", "good", "active"),
    ("failing", "{:,} failing", "bad", "failing"),
    ("held", "{:,} held for you", "wait", "held"),
    ("paused", "{:,} paused", "still", "paused"),
    ("stopped", "{:,} stopped", "still", "stopped"),
)


def parts(counts: dict[str, int]) -> tuple[HealthPart, ...]:
    return tuple(
        HealthPart(words.format(counts[name]), tone, list_url(Feed, health=health))
        for name, words, tone, health in PARTS
        if counts[name]
    )


def in_trouble() -> "QuerySet[Feed]":
    """Those first that have been in trouble longest."""
    since = Case(When(HELD, then=F("held_since")), default=F("failing_since"), output_field=DateTimeField())
    rows = Feed.objects.filter(FAILING | GONE | HELD).annotate(ill_since=since)
    return rows.order_by(F("ill_since").asc(nulls_last=True), "pk")[:SHOWN]


def _ill(feed: Feed, now: datetime) -> Ill:
    if feed.health == "held":
        wrong = "Posts of it wait for your word."
        return Ill(str(feed), object_url(feed), wrong, _since(feed.held_since, now))
    wrong = shortened(feed.last_error, LONGEST_ERROR) or "It cannot be read."
    if feed.status == Feed.Status.STOPPED:
        return Ill(
            str(feed), object_url(feed), wrong, _since(feed.failing_since, now), "It is not read any more."
        )
    coming = f"Next reading: {_lower(next_reading(feed, now))}"
    return Ill(str(feed), object_url(feed), wrong, _since(feed.failing_since, now), coming)


def _since(moment: datetime | None, now: datetime) -> str:
    return f"for {ago(now - moment)}" if moment else ""


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def quiet(now: datetime) -> list[Ill]:
    """Feeds that used to publish and have not for long: perhaps they have moved."""
    rows = Feed.objects.filter(
        WELL, rhythm_minutes__isnull=False, newest_at__lt=now - A_MONTH, first_polled_at__lt=now - A_MONTH
    )
    hints = [feed for feed in rows.order_by("newest_at", "pk")[:ASKED] if _is_quiet(feed, now)]
    return [_hint(feed, now) for feed in hints[:HINTS]]


def _last_post(feed: Feed) -> datetime:
    return feed.newest_at or feed.added_at


def _is_quiet(feed: Feed, now: datetime) -> bool:
    usual = timedelta(minutes=feed.rhythm_minutes or 0)
    return now - _last_post(feed) > max(A_MONTH, USUAL_TIMES * usual)


def _hint(feed: Feed, now: datetime) -> Ill:
    days = (now - _last_post(feed)).days
    length = f"{days // 30} months" if days >= 60 else f"{days} days"
    return Ill(str(feed), object_url(feed), f"has been quiet for {length}.")
