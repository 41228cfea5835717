"""Adding a subscriber by a program, which may ask twice: who is there already is not asked again."""

from collections.abc import Mapping
from datetime import datetime

from common import kinds
from subscriptions.models import Subscribable, Subscription
from subscriptions.services.subscribing import subscribe


def add_subscriber(
    *, subscribable: Subscribable, data: Mapping[str, str], confirmed: bool, language: str, now: datetime
) -> tuple[Subscription, bool]:
    """As `subscribe`, and whether it is new. Raises InvalidDestination."""
    parsed = kinds.get(subscribable.channel).parse_destination(data)
    rows = Subscription.objects.select_related("destination", "subscribable")
    there = rows.filter(subscribable=subscribable, destination__core=parsed.core).first()
    if there is not None and not parsed.secrets and _stands(there, confirmed):
        return there, False
    made = subscribe(subscribable=subscribable, data=data, now=now, confirmed=confirmed, language=language)
    return made, made.added_at == now


def _stands(subscription: Subscription, confirmed: bool) -> bool:
    """Whether it is what is wanted already."""
    if subscription.status == Subscription.Status.CONFIRMED:
        return subscription.ended_at is None
    return subscription.status == Subscription.Status.UNCONFIRMED and not confirmed
