"""Keeping the subscriptions at hubs: made, verified, renewed and ended as feeds want it (W3C WebSub)."""

from collections.abc import Callable
from datetime import datetime, timedelta

from common.clock import utcnow
from feeds.models import Feed, HubSubscription
from feeds.services.hub_asking import ask_due
from feeds.services.hub_wishes import drop_unwanted, follow_offers, is_reachable
from feeds.services.pushing import settle_debts


def keep_hubs(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """One pass. Returns how many hubs were asked for something."""
    now = clock()
    drop_unwanted(now)
    follow_offers(now)
    settle_debts(now)
    return ask_due(clock=clock, budget=budget) if is_reachable() else 0


def ask_again(*, feeds: list[int], now: datetime) -> int:
    """Has the hubs of these feeds asked at the next pass. Returns how many."""
    rows = HubSubscription.objects.filter(feed__in=feeds, feed__status=Feed.Status.ACTIVE)
    return rows.update(next_at=now, failures=0)
