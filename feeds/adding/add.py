"""Adding feeds, without network. The first successful poll decides which posts are old."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from common.text import one_line
from feeds.addresses import checked_url, host_of_url, is_address, same_address
from feeds.credentials import checked_credentials, split_address
from feeds.models import Feed
from feeds.tags import checked_tags, set_tags

MAX_FEED_TITLE = 1000
SETTINGS = (
    "title",
    "min_delay_minutes",
    "await_stabilization_minutes",
    "max_delay_minutes",
    "recheck_every_minutes",
    "pace",
    "ceiling_minutes",
    "hold_floods",
    "join_reposts",
    "use_hub",
)


def set_address(feed: Feed, url: str) -> dict[str, str]:
    """Set address and host. Returns user name and password from the address."""
    bare, pasted = split_address(url)
    feed.url = checked_url(bare)
    feed.host = host_of_url(feed.url)
    return pasted


def add_feed(
    *,
    url: str,
    now: datetime,
    start: str = Feed.Start.FROM_NOW,
    start_count: int = 0,
    tags: Iterable[str] = (),
    credentials: Mapping[str, str] | None = None,
    for_letters: bool = True,
    **settings: Any,
) -> Feed:
    """Add a feed, due at once. Raises ValidationError.

    Credentials in the address are removed from it. Without `for_letters` it is for readers here.
    """
    names = checked_tags(tags)
    feed = new_feed(url=url, now=now, credentials=credentials, **settings)
    feed.start, feed.start_count, feed.for_letters = start, start_count, for_letters
    check_feed(feed)
    with transaction.atomic():
        feed.save()
        set_tags(feed, names)
    return feed


def new_feed(
    *, url: str, now: datetime, credentials: Mapping[str, str] | None = None, **settings: Any
) -> Feed:
    """Check only the address. Raises ValidationError."""
    if unknown := set(settings) - set(SETTINGS):
        raise ValidationError(f"A feed has no setting called {', '.join(sorted(unknown))}.")
    feed = Feed(added_at=now, next_poll_at=now, **tidy(settings))
    pasted = set_address(feed, url.strip())
    feed.credentials = checked_credentials(credentials) or checked_credentials(pasted)
    return feed


def tidy(settings: Mapping[str, Any]) -> dict[str, Any]:
    if "title" not in settings:
        return dict(settings)
    title = one_line(str(settings["title"]))
    if len(title) > MAX_FEED_TITLE:
        raise ValidationError({"title": f"Give a title of at most {MAX_FEED_TITLE:,} characters."})
    return {**settings, "title": title}


def check_feed(feed: Feed) -> None:
    """Raise ValidationError, by field."""
    feed.full_clean(validate_constraints=False)
    if feed.max_delay_minutes < feed.min_delay_minutes:
        raise ValidationError(
            {"max_delay_minutes": "The longest delay must not be shorter than the shortest one."}
        )
    if feed.start == Feed.Start.LAST and feed.start_count < 1:
        raise ValidationError({"start_count": "Say how many posts, 1 or more."})


def feed_at(url: str, *, is_open: bool = False) -> Feed | None:
    """Ignore the scheme. `is_open`: only a feed without credentials."""
    bare = split_address(url.strip())[0]
    if not is_address(bare):
        return None
    wanted = same_address(bare)
    feeds = Feed.objects.filter(host=host_of_url(bare)).order_by("pk")
    return next(
        (feed for feed in feeds if same_address(feed.url) == wanted and not (is_open and feed.credentials)),
        None,
    )
