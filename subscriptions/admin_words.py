from common.clock import utcnow
from subscriptions.collections.readiness import collection_facts, feed_facts
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.completion import why_open
from subscriptions.rules.words import describe, moment_words, zone_words


def waits_for(assignable: Assignable) -> str:
    if assignable.last_error:
        return f"It failed and is tried again: {assignable.last_error}"
    zone = assignable.subscribable.zone
    sentence = why_open(collection_facts(assignable), feed_facts(assignable), utcnow(), zone)
    return f"{sentence} Then it waits for you." if assignable.waits else sentence


def rhythm_for_admins(subscribable: Subscribable) -> str:
    return describe(subscribable.schedule, subscribable.n, subscribable.zone)


def collection_name(assignable: Assignable) -> str:
    zone = assignable.subscribable.zone
    if assignable.period_start is None or assignable.period_end is None:
        return f"opened {moment_words(assignable.opened_at, zone)}"
    start, end = assignable.period_start.astimezone(zone), assignable.period_end.astimezone(zone)
    period = f"{start.day} {start:%b} {start:%H:%M} to {end.day} {end:%b %Y} {end:%H:%M}"
    return f"{period}, {zone_words(zone)}"
