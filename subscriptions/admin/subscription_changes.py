"""What a subscriber's page says of switches between newsletters."""

from typing import Any

from common.admin.html import link_to, when
from subscriptions.models import FrequencyChange, Subscription

CHANGES_SHOWN = 5


def changes_of(subscription: Subscription) -> list[tuple[str, Any]]:
    """The newsletters that it changes or changed to, and those it came from, the newest first."""
    away = subscription.switches_away.select_related("new__subscribable", "rarer").order_by("-pk")[
        :CHANGES_SHOWN
    ]
    here = subscription.switches_here.select_related("old__subscribable", "rarer").order_by("-pk")[
        :CHANGES_SHOWN
    ]
    to = [(_title(one, "to"), link_to(one.new, _said(one, one.new))) for one in away]
    return [*to, *((_title(one, "from"), link_to(one.old, _said(one, one.old))) for one in here)]


def _title(switch: FrequencyChange, way: str) -> str:
    return f"{'Changed' if switch.settled_at else 'Changes'} {way}"


def _said(switch: FrequencyChange, other: Subscription) -> str:
    if switch.settled_at:
        return f"{other.subscribable}, {when(switch.settled_at)}"
    due = f"on {when(switch.at)}" if switch.at else f"with the next letter of {switch.rarer}"
    return f"{other.subscribable}, {due}"
