"""Rate limits of the settings: `api`, `api_anonymous`, and others named by views."""

import math
import time
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from common.rates import Limit, Use, count_use, parse_limits


class Throttle(BaseThrottle):
    """Counter in windows of fixed length, atomic in the cache."""

    def __init__(self) -> None:
        self.seconds_left: float = 0

    def allow_request(self, request: Request, view: Any) -> bool:
        now = time.time()
        uses = [(limit, f"{client}:{int(now // limit.seconds)}") for limit, client in asker(request, view)]
        limit, left = min(((use[0], use[0].most - count_use(use)) for use in uses), key=itemgetter(1))
        self.seconds_left = limit.seconds - now % limit.seconds
        view.rate_headers = {
            "RateLimit-Limit": str(limit.most),
            "RateLimit-Remaining": str(max(left, 0)),
            "RateLimit-Reset": str(math.ceil(self.seconds_left)),
        }
        return left >= 0

    def wait(self) -> float:
        return self.seconds_left


def asker(request: Request, view: Any) -> Iterable[Use]:
    scope = getattr(view, "throttle_scope", "")
    if not scope and request.auth is not None:
        return [(_limit("api"), f"token-{request.auth.pk}")]
    if not scope and request.user.is_authenticated:
        return [(_limit("api"), f"user-{request.user.pk}")]
    return _limit(scope or "api_anonymous").by_network(str(request.META.get("REMOTE_ADDR", "")))


def _limit(name: str) -> Limit:
    return parse_limits(f"{name}={api_settings.DEFAULT_THROTTLE_RATES[name]}")[0]
