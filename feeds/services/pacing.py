"""A feed's settings and what its last reading said, as facts for the rule of its pace."""

from datetime import datetime, timedelta

from feeds.models import Feed
from feeds.rules.freshness import fresh_for
from feeds.rules.interval import Pacing, Signs
from feeds.services.reading import Reading


def pacing_of(feed: Feed) -> Pacing:
    return Pacing(
        interval=timedelta(minutes=feed.recheck_every_minutes),
        ceiling=timedelta(minutes=feed.ceiling_minutes),
        adaptive=feed.pace == Feed.Pace.ADAPTIVE,
    )


def signs_of(feed: Feed, reading: Reading, now: datetime, *, settling: bool, hub_is_live: bool) -> Signs:
    """`settling`: posts of the feed wait to become final."""
    channel = reading.channel
    rhythm = feed.rhythm_minutes
    return Signs(
        settling=settling,
        age=now - feed.added_at,
        rhythm=timedelta(minutes=rhythm) if rhythm is not None else None,
        fresh_for=fresh_for(reading.fetched.headers, now) if reading.fetched else timedelta(0),
        ttl=timedelta(minutes=channel.ttl or 0),
        skip_hours=frozenset(channel.skip_hours),
        skip_days=frozenset(channel.skip_days),
        hub_is_live=hub_is_live,
    )
