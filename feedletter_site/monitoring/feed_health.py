"""Feeds that need a person, for the overview."""

from datetime import datetime, timedelta

from django.db.models import Case, DateTimeField, F, Q, When

from common.admin.html import list_url, object_url, short_when
from common.text import pluralize, shortened
from feedletter_site.monitoring.attention import Alert
from feedletter_site.monitoring.figures import seldom
from feeds.models import Feed

TROUBLES_SHOWN = 3
LONGEST_ERROR = 120
# Without posts for this and four times the usual interval, a feed is quiet.
A_MONTH = timedelta(days=30)
USUAL_TIMES = 4
QUIET_SHOWN = 1
# Only the longest-silent feeds are checked for that.
QUIET_LOOKED_AT = 50

FAILING = Q(status="active", failures__gt=0)
GONE = Q(status="stopped", failures__gt=0, dropping=False)
HELD = Q(status="active", failures=0, held_since__isnull=False)
WELL = Q(status="active", failures=0, held_since=None)


def feeds_in_need(now: datetime) -> list[Alert]:
    """Put those in trouble for longest first. Uses a fixed number of queries."""
    ill_since = Case(
        When(HELD, then=F("held_since")), default=F("failing_since"), output_field=DateTimeField()
    )
    rows = Feed.objects.filter(FAILING | GONE | HELD).annotate(ill_since=ill_since)
    ill = list(rows.order_by(F("ill_since").asc(nulls_last=True), "pk")[: TROUBLES_SHOWN + 1])
    shown = [in_trouble(feed, now) for feed in ill[:TROUBLES_SHOWN]]
    if len(ill) > TROUBLES_SHOWN:
        more = pluralize(rows.count() - TROUBLES_SHOWN, "more feed")
        shown.append(Alert(f"{more} in trouble", "See all", list_url(Feed, health="failing")))
    return [*shown, *seldom("quiet", lambda: quiet_feeds(now))]


def in_trouble(feed: Feed, now: datetime) -> Alert:
    since = feed.held_since if feed.health == "held" else feed.failing_since
    lasts = f"since {short_when(since, now=now)}" if since else ""
    if feed.health == "held":
        return Alert(f"{feed} holds posts until you decide", "Decide", object_url(feed), detail=lasts)
    what = "is gone" if feed.status == Feed.Status.STOPPED else "can’t be read"
    error = shortened(feed.last_error.partition(". ")[0].rstrip("."), LONGEST_ERROR)
    detail = " · ".join(filter(None, (error, lasts)))
    return Alert(f"{feed} {what}", "See why", object_url(feed), detail=detail)


def quiet_feeds(now: datetime) -> list[Alert]:
    rows = Feed.objects.filter(
        WELL, rhythm_minutes__isnull=False, newest_at__lt=now - A_MONTH, first_polled_at__lt=now - A_MONTH
    )
    feeds = []
    for feed in rows.order_by("newest_at", "pk")[:QUIET_LOOKED_AT]:
        silence = now - (feed.newest_at or feed.added_at)
        usual = timedelta(minutes=feed.rhythm_minutes or 0)
        if silence > max(A_MONTH, USUAL_TIMES * usual):
            length = f"{silence.days // 30} months" if silence.days >= 60 else f"{silence.days} days"
            feeds.append(Alert(f"{feed} has been quiet for {length}", "Look", object_url(feed)))
    return feeds[:QUIET_SHOWN]
