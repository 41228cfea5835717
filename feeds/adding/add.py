"""Adding and changing feeds, without network.

The first successful poll decides which posts are old.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least

from common.clock import utcnow
from common.db.leases import RELEASED
from common.net.client import keeps_secrets
from common.text import one_line
from feeds.addresses import checked_url, host_of_url, is_address, same_address
from feeds.credentials import checked_credentials, split_address
from feeds.hubs.subscriptions import leave_hub
from feeds.models import Feed
from feeds.models.feed import SETTINGS, SHARED
from feeds.tags import checked_tags, set_tags

MAX_FEED_TITLE = 1000
EDITABLE = {*SETTINGS, "url", "status", "tags", "credentials"}


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


@transaction.atomic
def alter_feed(*, feed: Feed, **changes: Any) -> Feed:
    """Raise ValidationError.

    The first document after a change of address counts as the adding. `tags` replace all; `credentials` as in
    `checked_credentials`, {} deletes them.
    """
    if unknown := set(changes) - EDITABLE:
        raise ValidationError(f"A feed has no field to alter called {', '.join(sorted(unknown))}.")
    names = checked_tags(changes.pop("tags")) if "tags" in changes else None
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    changes = {**tidy(changes), **_access(feed, changes)}
    if changes.get("status") == Feed.Status.ACTIVE:
        changes["dropping"] = False
    if changes.get("hold_floods") and not feed.hold_floods:
        changes["floods_sent_at"] = None
    interval = feed.recheck_every_minutes
    for name, value in changes.items():
        setattr(feed, name, value)
    check_feed(feed)
    if feed.recheck_every_minutes < interval and not feed.failures and feed.last_polled_at:
        # Or it may be weeks away.
        feed.next_poll_at = min(
            feed.next_poll_at, feed.last_polled_at + timedelta(minutes=feed.recheck_every_minutes)
        )
        changes["next_poll_at"] = feed.next_poll_at
    feed.save(update_fields=list(changes))
    if names is not None:
        set_tags(feed, names)
    if "first_polled_at" in changes:
        leave_hub(feed=feed, now=utcnow())
    return feed


def _access(feed: Feed, changes: Mapping[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if "credentials" in changes:
        columns["credentials"] = checked_credentials(changes["credentials"])
    if "url" not in changes:
        return columns
    new = Feed()
    if pasted := set_address(new, changes["url"].strip()):
        columns["credentials"] = columns.get("credentials") or checked_credentials(pasted)
    columns.update(url=new.url, host=new.host)
    if new.url != feed.url:
        # Due at once. A worker that reads the old address stores nothing.
        columns.update(
            first_polled_at=None,
            start=Feed.Start.FROM_NOW,
            next_poll_at=feed.last_polled_at or feed.next_poll_at,
            moved_to="",
            moved_polls=0,
            floods_sent_at=None,
            failures=0,
            failing_since=None,
            last_error="",
            **RELEASED,
        )
        if feed.credentials and not keeps_secrets(feed.url, new.url):
            # The new host must not get the old one's credentials.
            columns.setdefault("credentials", {})
    return columns


@transaction.atomic
def alter_feeds(*, feeds: Iterable[int], **changes: Any) -> int:
    """Change all or none. Raises ValidationError, by field."""
    if unknown := set(changes) - SHARED:
        raise ValidationError(f"Not to be changed for many at once: {', '.join(sorted(unknown))}.")
    check_feed(Feed(url="https://example.org/", **changes))
    # Ordered to avoid deadlocks.
    rows = Feed.objects.filter(pk__in=list(feeds)).order_by("pk")
    pks = list(rows.select_for_update(no_key=True).values_list("pk", flat=True))
    chosen = Feed.objects.filter(pk__in=pks)
    if (interval := changes.get("recheck_every_minutes")) is not None:
        soon = F("last_polled_at") + timedelta(minutes=interval)
        slower = chosen.filter(recheck_every_minutes__gt=interval, failures=0, last_polled_at__isnull=False)
        slower.update(next_poll_at=Least("next_poll_at", soon))
    if changes.get("hold_floods"):
        chosen.filter(hold_floods=False).update(floods_sent_at=None)
    if changes:
        chosen.update(**changes)
    return len(pks)


def start_over(*, feeds: Iterable[int], now: datetime) -> int:
    """Make failing feeds due at once. Returns how many.

    Failures are counted until a reading succeeds.
    """
    failing = Feed.objects.watched().filter(pk__in=list(feeds), failures__gt=0)
    with transaction.atomic():
        pks = list(failing.order_by("pk").select_for_update().values_list("pk", flat=True))
        return Feed.objects.filter(pk__in=pks).update(next_poll_at=now)
