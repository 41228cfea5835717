"""Reads stored pushes, each once, in order of arrival."""

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

log = logging.getLogger(__name__)

# A worker that takes longer is dead.
READER_LOST_AFTER = timedelta(minutes=5)
PUSHES_A_PASS = 500


def unread(now: datetime) -> QuerySet[Push]:
    return Push.objects.filter(Q(began_at=None) | Q(began_at__lt=now - READER_LOST_AFTER))


def read_pushes(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Return how many were read.

    One that cannot be stored has its feed read instead.
    """
    left = TimeBudget(budget)
    done = 0
    waiting = unread(clock()).order_by("arrived_at", "pk").values_list("pk", flat=True)
    for pk in list(waiting[:PUSHES_A_PASS]):
        if left.is_spent:
            break
        now = clock()
        with transaction.atomic():
            rows = unread(now).filter(pk=pk).select_for_update(skip_locked=True, of=("self",))
            push = rows.select_related("subscription__feed").first()
            if push is None:
                continue
            was_begun = push.began_at is not None
            Push.objects.filter(pk=pk).update(began_at=now)
        subscription = push.subscription
        feed = subscription.feed
        # A full reading since then has it, or something newer.
        if (
            feed is not None
            and not (feed.fetched_through and feed.fetched_through >= push.arrived_at)
            and (was_begun or not _store(feed.pk, push, now))
        ):
            owe(subscription_id=subscription.pk, feed_id=feed.pk, moment=push.arrived_at)
        # A newer push may have replaced it.
        Push.objects.filter(pk=pk, arrived_at=push.arrived_at).delete()
        done += 1
    return done


def _store(feed_id: int, push: Push, now: datetime) -> bool:
    headers = {"content-type": push.content_type}
    try:
        result = push_feed(
            feed_id=feed_id, body=bytes(push.body), headers=headers, moment=push.arrived_at, now=now
        )
    except Exception:
        log.exception("a push failed", extra={"feed": feed_id})
        return False
    return result is not None and result.ok
