"""Receive activities, verify and apply them, and answer.

A request is checked cheaply and stored; a worker fetches keys. The rows are the queue.
"""

import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connections, transaction
from django.db.models import F, QuerySet

from channels.activitypub.channel import ActivityPubChannel
from channels.activitypub.message import Actor as Addresses
from channels.activitypub.message import activity_of
from channels.activitypub.signatures import (
    BadSignature,
    SignedRequest,
    check_digest,
    check_time,
    key_of,
    sign,
    verify,
)
from common.clock import utcnow
from common.html.clean import clean, plain
from common.net.client import FetchError, client
from common.passes import TimeBudget
from common.rates import Limit, count_within
from delivery.models import Delivery, Issue
from fediverse.actors import KEY, Unfetched, fetch_account, private_key
from fediverse.models import Activity, Actor, Follower, Outgoing, Reaction, RemoteActor
from fediverse.rules.activities import LONGEST_ID, Account, Asked, Malformed, Purpose, an_id, host_of, read
from subscriptions.links import page_url
from subscriptions.models import Destination, Subscription
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import mark_confirmed

log = logging.getLogger(__name__)
# A large server sends as much after a popular issue. The host is not yet verified, so networks count, too.
FROM_A_HOST = Limit("fediverse-host", 600)
FROM_A_NETWORK = Limit("fediverse-network", 600)
TOO_MANY = "Too many activities. Try again later."
MOST_WAITING = 5_000
AT_A_TIME = 20
THREADS = 5
LEASE = timedelta(minutes=2)
# A key is fetched again after a wrong signature, as it may have changed.
REFETCH_AFTER = timedelta(minutes=10)
KEEP_IDS = timedelta(days=2)
KEEP_KEYS = timedelta(days=30)
GONE_AFTER = timedelta(days=30)
MOST_ATTEMPTS = 8
FIRST_RETRY = timedelta(minutes=1)
LONGEST_REPLY = 2_000
HEADERS = ("signature", "signature-input", "digest", "content-digest", "date", "host", "content-type")
RETRIED = (401, 408, 425, 429)


class TooMany(Exception):
    pass


def receive(request: SignedRequest, asked: Asked, *, now: datetime) -> None:
    """Store an activity for `exchange_due`. Idempotent. Raises BadSignature and TooMany."""
    key = key_of(request.headers)
    host = host_of(key)
    if host != host_of(asked.actor) or len(request.url) > LONGEST_ID:
        raise BadSignature("The key is on another server than the actor.")
    check_time(request.headers, now)
    check_digest(request)
    if not count_within((FROM_A_HOST, host)):
        raise TooMany(host)
    known = RemoteActor.objects.filter(key_id=key).first()
    if known is None and asked.purpose in (Purpose.LEAVE, Purpose.REFRESH, Purpose.RETRACT):
        return  # Servers tell all others, most of which have never heard of the account.
    if known is not None and known.fetched_at > now - REFETCH_AFTER:
        verify(request, key=known.public_key, now=now)
    if Activity.objects.filter(due_at__lte=now + KEEP_IDS)[:MOST_WAITING].count() >= MOST_WAITING:
        raise TooMany(host)
    row = Activity(
        uri=asked.uri,
        host=host,
        url=request.url,
        headers={name: request.headers[name] for name in HEADERS if name in request.headers},
        body=request.body.decode(),
        received_at=now,
        due_at=now,
    )
    Activity.objects.bulk_create([row], ignore_conflicts=True)


def to_exchange(now: datetime) -> tuple[QuerySet[Any], ...]:
    return (Activity.objects.filter(due_at__lte=now), Outgoing.objects.filter(due_at__lte=now))


def exchange_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Apply received activities and deliver ours. Return how many."""
    left, done = TimeBudget(budget), 0
    while not left.is_spent:
        rows = [*_claimed(Activity, clock()), *_claimed(Outgoing, clock())]
        if not rows:
            break
        with ThreadPoolExecutor(THREADS, thread_name_prefix="send fediverse") as pool:
            done += sum(pool.map(partial(_worked, clock=clock), rows))
    return done


def _claimed(model: Any, now: datetime) -> list[Any]:
    due = model.objects.filter(due_at__lte=now)
    if not due.exists():
        return []
    with transaction.atomic():
        rows = list(due.order_by("due_at", "pk").select_for_update(skip_locked=True)[:AT_A_TIME])
        keys = [row.pk for row in rows]
        model.objects.filter(pk__in=keys).update(due_at=now + LEASE, attempts=F("attempts") + 1)
    return rows


def _worked(row: Activity | Outgoing, *, clock: Callable[[], datetime]) -> bool:
    """Return whether it is done. Runs in a thread."""
    try:
        return _apply(row, clock()) if isinstance(row, Activity) else _deliver(row, clock())
    except Exception:
        log.exception("an activity failed", extra={"activity": str(row)[:200]})
        _retry(row, clock())
        return False
    finally:
        connections.close_all()


def _retry(row: Activity | Outgoing, now: datetime) -> None:
    if row.attempts + 1 < MOST_ATTEMPTS:
        wait = FIRST_RETRY * 4**row.attempts
        type(row)._default_manager.filter(pk=row.pk).update(due_at=now + wait)
    else:
        _finish(row)


def _finish(row: Activity | Outgoing) -> None:
    if isinstance(row, Activity):
        Activity.objects.filter(pk=row.pk).update(due_at=None, body="", headers={})
    else:
        row.delete()


def _deliver(row: Outgoing, now: datetime) -> bool:
    body = json.dumps(row.document, ensure_ascii=False).encode()
    request = SignedRequest("POST", row.inbox, body=body)
    key_id = f"{row.document['actor']}#main-key"
    headers = sign(request, private=private_key(), key_id=key_id, now=now)
    try:
        status = client().push(row.inbox, body=body, headers=headers, timeout=10.0).status
    except FetchError:
        status = 0
    if status == 0 or status >= 500 or status in RETRIED:
        _retry(row, now)
        return False
    _finish(row)
    return True


def _apply(row: Activity, now: datetime) -> bool:
    try:
        asked = read(row.body.encode(), site=settings.SITE_URL)
        account = _verified(row, asked, now) if asked else None
    except (Malformed, BadSignature):
        # The true activity may have its id.
        row.delete()
        return False
    except Unfetched as error:
        if not error.is_gone:
            _retry(row, now)
            return False
        if not asked or asked.purpose is not Purpose.LEAVE:
            _finish(row)
            return False
        account = None
    moved = _moved(asked, now) if account and asked and asked.purpose is Purpose.MOVE else None
    with transaction.atomic():
        if asked:
            _act(asked, account, moved, now)
        _finish(row)
    return True


def _verified(row: Activity, asked: Asked, now: datetime) -> Account:
    """Verify with the known key, else with the present one. Raises BadSignature and Unfetched."""
    request = SignedRequest("POST", row.url, dict(row.headers), row.body.encode())
    key = key_of(request.headers)
    known = RemoteActor.objects.filter(key_id=key, uri=asked.actor).first()
    if known is not None:
        try:
            verify(request, key=known.public_key, now=row.received_at)
            return Account(known.uri, known.handle, known.inbox, known.shared_inbox, key, known.public_key)
        except BadSignature:
            if known.fetched_at > row.received_at - REFETCH_AFTER:
                raise
    account = fetch_account(asked.actor, now=now)
    if account.key_id != key:
        raise BadSignature("The actor has another key.")
    verify(request, key=account.public_key, now=row.received_at)
    _know(account, now)
    return account


def _know(account: Account, now: datetime) -> None:
    stored = ("handle", "inbox", "shared_inbox", "key_id", "public_key")
    facts = {"fetched_at": now} | {name: getattr(account, name) for name in stored}
    with transaction.atomic():
        RemoteActor.objects.filter(key_id=account.key_id).exclude(uri=account.uri).delete()
        RemoteActor.objects.update_or_create(uri=account.uri, defaults=facts)


def _moved(asked: Asked, now: datetime) -> Account | None:
    """Return the new account, if it says that it was the old one."""
    try:
        target = fetch_account(asked.target, now=now)
    except Unfetched:
        return None
    return target if asked.actor in target.also_known_as else None


def _act(asked: Asked, account: Account | None, moved: Account | None, now: datetime) -> None:
    match asked.purpose:
        case Purpose.FOLLOW if account:
            _follow(asked, account, now)
        case Purpose.UNFOLLOW:
            unfollow(Follower.objects.filter(uri=asked.actor, actor__newsletter__name=asked.target), now=now)
        case Purpose.UNDO:
            unfollow(Follower.objects.filter(uri=asked.actor, follow_id=asked.target), now=now)
            Reaction.objects.filter(actor=asked.actor, uri=asked.target).delete()
        case Purpose.LIKE | Purpose.BOOST | Purpose.REPLY if account:
            _react(asked, account, now)
        case Purpose.RETRACT:
            Reaction.objects.filter(actor=asked.actor, uri=asked.target).delete()
        case Purpose.LEAVE:
            unfollow(Follower.objects.filter(uri=asked.actor), now=now)
            Reaction.objects.filter(actor=asked.actor).delete()
            RemoteActor.objects.filter(uri=asked.actor).delete()
        case Purpose.MOVE if moved:
            _know(moved, now)
            server = _server(moved, now)
            for row in list(Follower.objects.filter(uri=asked.actor).select_related("actor__newsletter")):
                unfollow(Follower.objects.filter(pk=row.pk), now=now)
                _add(row.actor, moved, server, "", now)
        case Purpose.REFRESH:
            RemoteActor.objects.filter(uri=asked.actor).update(fetched_at=now - REFETCH_AFTER)


def _follow(asked: Asked, account: Account, now: datetime) -> None:
    rows = Actor.objects.select_related("newsletter").filter(is_on=True)
    actor = rows.filter(newsletter__name=asked.target).first()
    if actor is None:
        return
    _add(actor, account, _server(account, now), asked.uri, now)
    ours = Addresses(page_url(actor.newsletter))
    follow = {"id": asked.uri, "type": "Follow", "actor": asked.actor, "object": ours.id}
    answer = activity_of("Accept", f"{ours.id}#accept-{asked.uri}"[:500], ours, follow)
    Outgoing.objects.create(actor=actor, inbox=account.inbox, document=answer, due_at=now)


def _server(account: Account, now: datetime) -> Destination:
    inbox = {"inbox": account.shared_inbox or account.inbox}
    row = Destination.at(ActivityPubChannel().parse_destination(inbox), kind=KEY, now=now)
    if row.disabled_at is not None:
        # It has asked again, so it is there.
        row.disabled_at, row.disabled_reason = None, ""
        row.save(update_fields=["disabled_at", "disabled_reason"])
    return row


def _add(actor: Actor, account: Account, server: Destination, follow_id: str, now: datetime) -> None:
    facts = {"handle": account.handle, "inbox": account.inbox, "server": server, "follow_id": follow_id}
    Follower.objects.update_or_create(
        actor=actor, uri=account.uri, defaults=facts, create_defaults={**facts, "since": now}
    )
    rows = Subscription.objects.select_for_update(no_key=True)
    row, _ = rows.get_or_create(subscribable=actor.newsletter, destination=server, defaults={"added_at": now})
    if row.status != Subscription.Status.CONFIRMED or row.ended_at is not None:
        mark_confirmed(row, now=now)


def unfollow(followers: "QuerySet[Follower]", *, now: datetime) -> None:
    """Delete followers, and end the subscriptions of servers that have none left."""
    rows = list(followers.select_related("actor", "server"))
    Follower.objects.filter(pk__in=[row.pk for row in rows]).delete()
    for newsletter, server in {(row.actor.newsletter_id, row.server_id) for row in rows}:
        if Follower.objects.filter(actor__newsletter=newsletter, server=server).exists():
            continue
        for subscription in Subscription.objects.filter(subscribable=newsletter, destination=server):
            leave(subscription=subscription, now=now)


def _react(asked: Asked, account: Account, now: datetime) -> None:
    issue = Issue.objects.filter(pk=int(asked.target), published_at__isnull=False).first()
    if issue is None or not Actor.objects.filter(newsletter=issue.subscribable_id, is_on=True).exists():
        return
    note = asked.document.get("object")
    reply = note if asked.purpose is Purpose.REPLY and isinstance(note, Mapping) else {}
    text = str(reply.get("content") or "")[: 10 * LONGEST_REPLY]
    url = an_id(reply.get("url"))
    facts = {
        "issue": issue,
        "kind": asked.purpose.value,
        "actor": asked.actor,
        "handle": account.handle,
        "text": plain(clean(text, base=""))[:LONGEST_REPLY],
        "url": url if host_of(url) == host_of(asked.actor) else "",
        "at": now,
    }
    Reaction.objects.get_or_create(uri=str(reply["id"]) if reply else asked.uri, defaults=facts)


@transaction.atomic
def drop_old(*, now: datetime) -> None:
    """Forget old activities and keys, and drop servers that were away for weeks."""
    Activity.objects.filter(received_at__lt=now - KEEP_IDS).delete()
    followed = Follower.objects.values("uri")
    RemoteActor.objects.filter(fetched_at__lt=now - KEEP_KEYS).exclude(uri__in=followed).delete()
    since = now - GONE_AFTER
    issues = Delivery.objects.filter(destination__kind=KEY, created_at__gte=since)
    failing = issues.filter(state=Delivery.State.FAILED).order_by().values("destination")
    answering = issues.filter(state=Delivery.State.SENT).order_by().values("destination")
    gone = Destination.objects.filter(kind=KEY, disabled_at=None, added_at__lt=since, pk__in=failing)
    gone = gone.exclude(pk__in=answering)
    ended = Destination.objects.filter(kind=KEY, disabled_at__lt=since)
    for rows in (gone, ended):
        unfollow(Follower.objects.filter(server__in=list(rows.values_list("pk", flat=True))), now=now)
