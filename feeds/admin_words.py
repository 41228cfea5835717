from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpRequest

from common.admin.html import ago
from common.text import pluralize
from feeds.models import Feed, Poll
from feeds.rules.item_status import because

JUST_NOW = timedelta(seconds=10)


def last_reading(feed: Feed, now: datetime) -> str:
    if feed.last_polled_at is None:
        return "Not yet."
    passed = now - feed.last_polled_at
    read = "Just now" if passed < JUST_NOW else f"{ago(passed).capitalize()} ago"
    if not feed.failures:
        return f"{read}, without problems."
    if feed.failures == 1 or feed.failing_since is None:
        return f"{read}. It failed."
    return f"{read}. It has failed {feed.failures:,} times in a row, for {ago(now - feed.failing_since)}."


def next_reading(feed: Feed, now: datetime) -> str:
    if feed.dropping:
        return "Never: it is deleted once its last posts are sent."
    if feed.status != Feed.Status.ACTIVE:
        return f"None, because it is {feed.get_status_display()}."
    wait = feed.next_poll_at - now
    if wait <= timedelta(0):
        return "Now, while the service runs."
    why = because(feed.next_poll_why, every_minutes=feed.recheck_every_minutes, failing=bool(feed.failures))
    return f"In {ago(wait)}: {why}."


def tell(request: HttpRequest, result: Poll | None) -> None:
    if result is None:
        messages.warning(request, "The feed is being read right now, or it is paused.")
    elif not result.ok:
        messages.error(request, f"The feed couldn’t be read. {result.error}")
    else:
        messages.success(request, f"The feed was read: {brought(result)}.")


def brought(result: Poll) -> str:
    """Return "3 new posts, 1 changed"."""
    counts = (
        (pluralize(result.new, "new post"), result.new),
        (f"{result.changed:,} changed", result.changed),
        (f"{result.vanished:,} withdrawn", result.vanished),
        (f"{result.held:,} held for you", result.held),
        (f"{result.excluded:,} not to be sent", result.excluded),
        (f"{result.final:,} settled", result.final),
    )
    return ", ".join(words for words, count in counts if count) or "nothing new"
