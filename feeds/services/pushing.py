"""A push from a hub goes the way of a poll, or is owed: a reading that begins later brings what it told."""

import hashlib
import logging
from datetime import datetime

from django.db.models import F

from feeds.models import HubSubscription
from feeds.rules.websub import is_signed
from feeds.services.hub_asking import secret_of
from feeds.services.polling import PollResult, push_feed, request_poll

log = logging.getLogger(__name__)

# How many pushes are remembered. A signature has no date: who overhears a push could send it again.
REMEMBERED = 50


def hear(
    *, subscription: HubSubscription, signature: str, body: bytes, content_type: str, moment: datetime
) -> PollResult | None:
    """A push at the callback; one with a wrong or no signature is counted and ignored (WebSub, 7.1)."""
    if not is_signed(signature, body, secret_of(subscription)):
        HubSubscription.objects.filter(pk=subscription.pk).update(refused=F("refused") + 1)
        return None
    return take_push(subscription=subscription, body=body, content_type=content_type, moment=moment)


def take_push(
    *, subscription: HubSubscription, body: bytes, content_type: str, moment: datetime
) -> PollResult | None:
    """Stores what a push brings. `moment` is before its body was read. None when nothing came of it.

    A push that came before changes nothing.
    """
    digest = hashlib.sha256(body).hexdigest()[:32]
    feed_id = subscription.feed_id
    if feed_id is None or digest in subscription.seen:
        return None
    result = _stored(feed_id, body, content_type, moment)
    is_stored = result is not None and result.ok
    _note(subscription, digest, moment, is_stored)
    if not is_stored:
        request_poll(feed_ids=[feed_id], now=moment)
    return result


def _stored(feed_id: int, body: bytes, content_type: str, moment: datetime) -> PollResult | None:
    """None: another worker is at the feed, or the push could not be used."""
    if not body.strip():
        return None
    try:
        return push_feed(feed_id=feed_id, body=body, headers={"content-type": content_type}, now=moment)
    except Exception:
        log.exception("a push failed", extra={"feed": feed_id})
        return None


def _note(subscription: HubSubscription, digest: str, moment: datetime, is_stored: bool) -> None:
    changes = {} if is_stored else {"owed_at": moment}
    HubSubscription.objects.filter(pk=subscription.pk).update(
        last_push_at=moment, missed=0, seen=[digest, *subscription.seen][:REMEMBERED], **changes
    )


def settle_debts(now: datetime) -> None:
    """Has feeds read whose push could not be stored, until a reading that began after the push succeeded.

    (A poll that was under way when it came may have asked too early, and sets the next one off.)
    """
    owed = HubSubscription.objects.filter(owed_at__isnull=False, feed__isnull=False)
    paid = list(owed.filter(feed__fetched_through__gte=F("owed_at")).values_list("pk", "owed_at"))
    for pk, owed_at in paid:
        HubSubscription.objects.filter(pk=pk, owed_at=owed_at).update(owed_at=None)
    paid_pks = {pk for pk, _ in paid}
    waiting = [feed_id for pk, feed_id in owed.values_list("pk", "feed_id") if pk not in paid_pks and feed_id]
    if waiting:
        request_poll(feed_ids=waiting, now=now)
