"""A reader's pause: what comes meanwhile is not sent, and not sent later either."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from subscriptions.models import Subscription
from subscriptions.rules.pausing import pause_end
from subscriptions.services.lines import line_of


def pause(*, subscription: Subscription, until: date, now: datetime) -> None:
    """Until that day begins on the newsletter's clock. Raises BadDate for one past or too far off."""
    end = pause_end(until, now=now, zone=ZoneInfo(subscription.subscribable.time_zone))
    _set(subscription, end)


def resume(*, subscription: Subscription) -> None:
    """The next letter comes again."""
    _set(subscription, None)


def is_paused(subscription: Subscription, now: datetime) -> bool:
    return subscription.paused_until is not None and subscription.paused_until > now


def _set(subscription: Subscription, until: datetime | None) -> None:
    Subscription.objects.filter(pk__in=line_of(subscription)).update(paused_until=until)
    subscription.paused_until = until
