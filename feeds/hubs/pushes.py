"""What hubs have pushed is read by a worker, each push once, in the order in which they came."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from common.clock import utcnow
from common.passes import TimeBudget
from feeds.hubs.maintain import owe
from feeds.models import Push
from feeds.polling.poll import push_feed
from feeds.polling.record import PollResult

log = logging.getLogger(__name__)

# After so long, who began to read a push is dead.
LOST = timedelta(minutes=5)
AT_ONCE = 500


def unread(now: datetime) -> QuerySet[Push]:
    return Push.objects.filter(Q(began_at=None) | Q(began_at__lt=now - LOST))


def read_pushes(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Reads what is there, or what the budget allows. Returns how many pushes were taken in hand."""
    left = TimeBudget(budget)
    done = 0
    waiting = unread(clock()).order_by("arrived_at", "pk").values_list("pk", flat=True)
    for pk in list(waiting[:AT_ONCE]):
        if left.is_spent:
            break
        done += _read(pk, clock())
    return done


def _read(pk: int, now: datetime) -> bool:
    """Reads it, or has its feed read instead. False when another worker has taken it."""
    push, was_begun = _begin(pk, now)
    if push is None:
        return False
    subscription = push.subscription
    feed = subscription.feed
    # What was read in full since then has it, or something newer.
    if feed is not None and not (feed.fetched_through and feed.fetched_through >= push.arrived_at):
        result = None if was_begun else _stored(feed.pk, push, now)
        if result is None or not result.ok:
            owe(subscription_id=subscription.pk, feed_id=feed.pk, moment=push.arrived_at)
    # Unless a newer one has taken its place meanwhile.
    Push.objects.filter(pk=pk, arrived_at=push.arrived_at).delete()
    return True


@transaction.atomic
def _begin(pk: int, now: datetime) -> tuple[Push | None, bool]:
    """The push, if it is ours to read; and whether somebody had begun to before."""
    rows = unread(now).filter(pk=pk).select_for_update(skip_locked=True, of=("self",))
    push = rows.select_related("subscription__feed").first()
    if push is None:
        return None, False
    was_begun = push.began_at is not None
    Push.objects.filter(pk=pk).update(began_at=now)
    return push, was_begun


def _stored(feed_id: int, push: Push, now: datetime) -> PollResult | None:
    """None: another worker is at the feed, or the push could not be used."""
    headers = {"content-type": push.content_type}
    try:
        return push_feed(
            feed_id=feed_id, body=bytes(push.body), headers=headers, moment=push.arrived_at, now=now
        )
    except Exception:
        log.exception("a push failed", extra={"feed": feed_id})
        return None
