"""Limits of what sign-ups may cost in text messages."""

from datetime import datetime

from subscriptions.models import Subscribable
from subscriptions.rules.limits import Limit, networks_of
from subscriptions.rules.phone_limits import PHONE_LIMITS, row_of
from subscriptions.subscribers.rate_limits import CountedRequest, check_values


def check_phone_limits(
    *, core: str, ip: str, newsletter: Subscribable, now: datetime
) -> list[CountedRequest]:
    """What a code to that number takes from each limit. Raises OverLimit when one is reached already."""
    values = {
        "phone-number": {core: 1},
        "phone-ip": networks_of(ip),
        "phone-row": {row_of(core): 1},
        "phone-letter": {str(newsletter.pk): 1},
    }
    wanted = [
        (Limit(limit.scope, limit.most * times, limit.period), value)
        for limit in PHONE_LIMITS
        for value, times in values[limit.scope].items()
    ]
    return check_values(wanted, now)
