"""Sentences that more than one admin page shows."""

from zoneinfo import ZoneInfo

from common.clock import utcnow
from subscriptions.models import Assignable
from subscriptions.rules.completion import why_open
from subscriptions.services.waiting import collection_facts, feed_facts


def waits_for(assignable: Assignable) -> str:
    """When a collection goes out, or what it waits for."""
    if assignable.last_error:
        return f"It failed and is tried again: {assignable.last_error}"
    zone = ZoneInfo(assignable.subscribable.time_zone)
    return why_open(collection_facts(assignable), feed_facts(assignable), utcnow(), zone)
