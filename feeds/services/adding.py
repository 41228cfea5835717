"""Adding a feed: a row only. Its first successful poll, whenever it comes, decides what is there already."""

from datetime import datetime
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction

from common.text import one_line
from feeds.models import Feed

MAX_URL = 4000


def checked_url(url: str) -> str:
    """The address, trimmed. Raises ValidationError for what cannot be a feed's address."""
    url = url.strip()
    if not is_address(url):
        raise ValidationError({"url": "Give an address that begins with http:// or https://."})
    return url


def is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return good and len(url) <= MAX_URL and url == one_line(url)


@transaction.atomic
def add_feed(
    *,
    url: str,
    now: datetime,
    start: str = Feed.Start.FROM_NOW,
    start_count: int = 0,
    min_delay_minutes: int = 30,
    await_stabilization_minutes: int = 15,
    max_delay_minutes: int = 180,
    recheck_every_minutes: int = 10,
) -> Feed:
    """A new feed, due at once. Raises ValidationError when an argument is wrong. No network."""
    feed = Feed(
        url=checked_url(url),
        added_at=now,
        next_poll_at=now,
        start=start,
        start_count=start_count,
        min_delay_minutes=min_delay_minutes,
        await_stabilization_minutes=await_stabilization_minutes,
        max_delay_minutes=max_delay_minutes,
        recheck_every_minutes=recheck_every_minutes,
    )
    check(feed)
    feed.save()
    return feed


def check(feed: Feed) -> None:
    """Raises ValidationError, naming the field, for a feed that cannot be saved."""
    feed.full_clean(validate_constraints=False)
    if feed.max_delay_minutes < feed.min_delay_minutes:
        raise ValidationError(
            {"max_delay_minutes": "The longest delay must not be shorter than the shortest one."}
        )
    if feed.start == Feed.Start.LAST and feed.start_count < 1:
        raise ValidationError({"start_count": "Say how many posts, 1 or more."})
