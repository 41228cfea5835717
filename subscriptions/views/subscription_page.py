from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from subscriptions import links
from subscriptions.models import FrequencyChange, Subscribable, Subscription
from subscriptions.rules.schedule import wall
from subscriptions.rules.words import clock_words
from subscriptions.subscribers.details import is_paused
from subscriptions.subscribers.frequency import (
    Cost,
    cost_of_now,
    is_over,
    plan_switch,
    siblings,
    still_to_come,
    switch_beginning,
    switch_ending,
)
from subscriptions.subscribers.leave import can_undo
from subscriptions.subscribers.lineage import successor
from subscriptions.subscribers.sign_up import is_open
from subscriptions.views.rhythm import rhythm, zone_in_words


@dataclass(frozen=True, slots=True)
class Choice:
    newsletter: Subscribable
    rhythm: str


@dataclass(frozen=True, slots=True)
class ShownChange:
    """Pending switch. `at` is None while it waits for `posts`."""

    old: Subscribable
    new: Subscribable
    rhythm: str
    at: datetime | None
    clock: str
    posts: int
    time_zone: str
    zone: str
    is_over: bool
    may_repeat: bool
    cost: Cost


def subscription_context(subscription: Subscription, now: datetime) -> dict[str, Any]:
    newsletter, page_url = subscription.subscribable, links.page_url(subscription.subscribable)
    goes, comes = switch_ending(subscription), switch_beginning(subscription)
    is_active = subscription.status == Subscription.Status.CONFIRMED and subscription.ended_at is None
    may_switch = is_active and not comes and not subscription.is_beside
    return {
        "subscription": subscription,
        "newsletter": newsletter,
        "rhythm": rhythm(newsletter),
        "page_url": page_url,
        "archive_url": f"{page_url}archive/" if page_url else "",
        "is_open": is_open(newsletter),
        "is_active": is_active,
        "paused_until": subscription.paused_until if is_paused(subscription, now) else None,
        "change": shown_change(goes, now) if goes and is_active else None,
        "coming": shown_change(comes, now) if comes and is_active else None,
        "choices": choices(siblings(newsletter, now=now)) if may_switch else [],
        "successor": None if is_active else successor(subscription),
        "can_undo": can_undo(subscription=subscription, now=now),
        "manage_url": links.manage_url(subscription),
        "unsubscribe_url": links.unsubscribe_url(subscription),
    }


def choices(newsletters: list[Subscribable]) -> list[Choice]:
    return [Choice(one, rhythm(one)) for one in newsletters]


def shown_change(switch: FrequencyChange, now: datetime) -> ShownChange:
    old, new, zone = switch.old.subscribable, switch.new.subscribable, switch.rarer.time_zone
    over = is_over(switch, now)
    return ShownChange(
        old=old,
        new=new,
        rhythm=rhythm(new),
        at=switch.at,
        clock=clock_words(wall(switch.at, ZoneInfo(zone)).time()) if switch.at else "",
        posts=still_to_come(switch),
        time_zone=zone,
        zone=zone_in_words(ZoneInfo(zone)),
        is_over=over,
        may_repeat=not over and not plan_switch(old=old, new=new, now=now).is_nested,
        cost=cost_of_now(old=old, new=new),
    )
