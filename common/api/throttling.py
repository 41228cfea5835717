"""Rate limits `api` and `api_anonymous` of the settings."""

import math
import time
from typing import Any

from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from common.net.addresses import networks_of
from common.rates import count_request

PERIOD_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def read_rate(text: str) -> tuple[int, int]:
    """Parse "600/minute" as (600, 60)."""
    count, _, period = text.partition("/")
    return int(count), PERIOD_SECONDS[period[0]]


class Throttle(BaseThrottle):
    """Counter in windows of fixed length, atomic in the cache."""

    def __init__(self) -> None:
        self.seconds_left: float = 0

    def allow_request(self, request: Request, view: Any) -> bool:
        rate, clients = asker(request)
        most, seconds = read_rate(str(api_settings.DEFAULT_THROTTLE_RATES[rate]))
        now = time.time()
        self.seconds_left = seconds - now % seconds
        window = int(now // seconds)
        counts = [
            (count_request(f"{rate}:{client}:{window}", seconds), most * times)
            for client, times in clients.items()
        ]
        count, limit = min(counts, key=lambda pair: pair[1] - pair[0])
        view.rate_headers = {
            "RateLimit-Limit": str(limit),
            "RateLimit-Remaining": str(max(limit - count, 0)),
            "RateLimit-Reset": str(math.ceil(self.seconds_left)),
        }
        return count <= limit

    def wait(self) -> float:
        return self.seconds_left


def asker(request: Request) -> tuple[str, dict[str, int]]:
    """Return the name of the rate, and the clients with their multiples of it."""
    if request.auth is not None:
        return "api", {f"token-{request.auth.pk}": 1}
    if request.user.is_authenticated:
        return "api", {f"user-{request.user.pk}": 1}
    return "api_anonymous", networks_of(str(request.META.get("REMOTE_ADDR", "")))
