"""Subscriptions at hubs (W3C WebSub), and their pushes.

Workers read pushes, as strangers decide how much work they are. For a push that cannot be stored, a later
reading is owed.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from common.clock import utcnow
from feeds.hubs.requests import ask_due, secret_of
from feeds.hubs.subscriptions import drop_unwanted, follow_offers, is_reachable
from feeds.models import Feed, HubSubscription, Push
from feeds.polling.poll import request_poll
from feeds.rules.websub import is_signed

# A signature has no date, so an eavesdropper could repeat a push.
REMEMBERED = 50


def hear(
    *, subscription: HubSubscription, signature: str, body: bytes, content_type: str, moment: datetime
) -> bool:
    """Receive a push. `moment` is before its body was read. Returns whether it is new.

    Wrong signatures are counted and ignored (WebSub §7.1), and repeated pushes ignored.
    """
    if not is_signed(signature, body, secret_of(subscription)):
        HubSubscription.objects.filter(pk=subscription.pk).update(refused=F("refused") + 1)
        return False
    return note_push(subscription=subscription, body=body, content_type=content_type, moment=moment)


@transaction.atomic
def note_push(*, subscription: HubSubscription, body: bytes, content_type: str, moment: datetime) -> bool:
    """Store a push, the newest of its subscription. Returns whether it is new."""
    digest = hashlib.sha256(body).hexdigest()[:32]
    row = HubSubscription.objects.select_for_update().filter(pk=subscription.pk).first()
    if row is None or row.feed_id is None or digest in row.seen:
        return False
    row.last_push_at, row.missed = moment, 0
    row.seen = [digest, *row.seen][:REMEMBERED]
    row.save(update_fields=["last_push_at", "missed", "seen"])
    is_hint = not body.strip()
    if is_hint or Push.objects.filter(pk=row.pk).exists():
        owe(subscription_id=row.pk, feed_id=row.feed_id, moment=moment)
    if not is_hint:
        kept = {"body": body, "content_type": content_type, "arrived_at": moment, "began_at": None}
        Push.objects.update_or_create(subscription=row, defaults=kept)
    return True


def owe(*, subscription_id: int, feed_id: int, moment: datetime) -> None:
    """Have the feed read in place of a push at `moment`."""
    earlier = Q(owed_at=None) | Q(owed_at__lt=moment)
    HubSubscription.objects.filter(earlier, pk=subscription_id).update(owed_at=moment)
    request_poll(feed_ids=[feed_id], now=moment)


def retry_missed_pushes(now: datetime) -> None:
    """Poll feeds that owe a push, until a reading that began after the push succeeded."""
    owed = HubSubscription.objects.filter(owed_at__isnull=False, feed__isnull=False)
    settled = list(owed.filter(feed__fetched_through__gte=F("owed_at")).values_list("pk", "owed_at"))
    for pk, owed_at in settled:
        HubSubscription.objects.filter(pk=pk, owed_at=owed_at).update(owed_at=None)
    settled_pks = {pk for pk, _ in settled}
    waiting = [
        feed_id for pk, feed_id in owed.values_list("pk", "feed_id") if pk not in settled_pks and feed_id
    ]
    if waiting:
        request_poll(feed_ids=waiting, now=now)


def keep_hubs(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    now = clock()
    drop_unwanted(now)
    follow_offers(now)
    retry_missed_pushes(now)
    return ask_due(clock=clock, budget=budget) if is_reachable() else 0


def ask_again(*, feeds: list[int], now: datetime) -> int:
    rows = HubSubscription.objects.filter(feed__in=feeds, feed__status=Feed.Status.ACTIVE)
    return rows.update(next_at=now, failures=0)
