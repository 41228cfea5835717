from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone, translation

from common.clock import utcnow, zone_words
from subscriptions.collections.readiness import collection_facts, feed_facts
from subscriptions.models import Assignable, Subscribable
from subscriptions.newsletters.rhythm import rhythm
from subscriptions.rules.completion import clock_words, moment_words, why_open

# Said wherever a newsletter has no subscriber yet.
FIRST_ISSUE = (
    "Your first subscriber gets the newest issue on confirming. Earlier ones are only in the archive."
)


def waits_for(assignable: Assignable) -> str:
    if assignable.last_error:
        return f"It failed and is retried: {assignable.last_error}"
    zone = assignable.subscribable.zone
    sentence = why_open(collection_facts(assignable), feed_facts(assignable), utcnow(), zone)
    return f"{sentence} Then it waits for your approval." if assignable.waits else sentence


def rhythm_for_admins(subscribable: Subscribable) -> str:
    """Return "every Monday at 7:00, New York time", to follow "It comes"."""
    with translation.override("en"):
        words = rhythm(subscribable)
    return f"{words[:1].lower()}{words[1:]}"


def rhythm_here(subscribable: Subscribable) -> str:
    """Name the time zone only if it is not the admin's."""
    words = zone_words(ZoneInfo(timezone.get_current_timezone_name()))
    return rhythm_for_admins(subscribable).removesuffix(f", {words}")


def next_issue_title(assignable: Assignable, *, now: datetime) -> str:
    """Return “Next issue of The Harbour Weekly · Monday 7:00”."""
    title = f"Next issue of {assignable.subscribable}"
    if assignable.period_end is None:
        return title
    at = assignable.period_end.astimezone(assignable.subscribable.zone)
    # A weekday alone would be ambiguous.
    is_far = assignable.period_end - now > timedelta(days=6)
    day = f"{at.day} {at:%B}" if is_far else f"{at:%A}"
    return f"{title} · {day} {clock_words(at.time())}"


def collection_name(assignable: Assignable) -> str:
    zone = assignable.subscribable.zone
    if assignable.period_start is None or assignable.period_end is None:
        return f"opened {moment_words(assignable.opened_at, zone)}"
    start, end = assignable.period_start.astimezone(zone), assignable.period_end.astimezone(zone)
    period = f"{start.day} {start:%b} {start:%H:%M} to {end.day} {end:%b %Y} {end:%H:%M}"
    return f"{period}, {zone_words(zone)}"
