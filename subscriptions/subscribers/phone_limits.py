"""How many codes sign-ups may have sent to phones: each costs, and some numbers are there to be paid for it.

These limits hold besides SIGN_UP_LIMITS, which are made for mails.
"""

from datetime import datetime

from common.net.addresses import networks_of
from subscriptions.models import Subscribable
from subscriptions.rules.limits import PERIODS, Limit
from subscriptions.subscribers.rate_limits import CountedRequest, check_values

HOUR, DAY = PERIODS["hour"], PERIODS["day"]
# Of a number so many digits are counted together: whoever is paid for messages has rows of numbers.
ROW_OF_NUMBERS = 4
# “domain” is the row of numbers.
PHONE_LIMITS = (
    Limit("address", 2, HOUR),
    Limit("address", 4, DAY),
    Limit("ip", 4, HOUR),
    Limit("ip", 10, DAY),
    Limit("domain", 10, HOUR),
    Limit("newsletter", 200, HOUR),
)


def row_of(number: str) -> str:
    """The row of numbers that a number stands in."""
    return number[:-ROW_OF_NUMBERS]


def check_phone_limits(
    *, core: str, ip: str, newsletter: Subscribable, now: datetime
) -> list[CountedRequest]:
    """What a code to that number takes from each limit. Raises OverLimit when one is reached already."""
    values = {
        "address": {core: 1},
        "ip": networks_of(ip),
        "domain": {row_of(core): 1},
        "newsletter": {str(newsletter.pk): 1},
    }
    wanted = [
        # Counted apart from what SIGN_UP_LIMITS counts.
        (Limit(limit.scope, limit.most * times, limit.period), f"phone/{value}")
        for limit in PHONE_LIMITS
        for value, times in values[limit.scope].items()
    ]
    return check_values(wanted, now)
