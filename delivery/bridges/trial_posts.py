"""Test posts: post a bridge's newest post now, and delete it."""

import logging
import time
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from channels import channel
from channels.base import (
    NOTHING,
    Ambiguous,
    CountsRefusals,
    Deletes,
    LaneFacts,
    Outcome,
    Permanent,
    Sent,
    Session,
    StatefulSession,
    Temporary,
)
from channels.rules.corrections import change_key
from common.clock import utcnow
from common.db.leases import RELEASED
from common.refused import Refused
from common.text import one_line, shortened
from common.transactions import forbid_open_transaction
from delivery.accounts.accounts import facts_of
from delivery.bridges.messages import letter_without_posts, newest_letters, recipient_at
from delivery.lanes.lanes import count_refusals, end_refusal, mail_to, why_resting
from delivery.models import Delivery, Lane, RemotePost
from subscriptions.models import Destination, Subscription

log = logging.getLogger(__name__)

# A page waits for it.
TRIAL_SECONDS = 20.0
# Then a worker takes over from a dead process.
LEASE = timedelta(minutes=5)
LONGEST_TRIAL_ANSWER = 1000
MOST_TESTS = 20
NOTHING_POSTED = "Nothing was posted: "


class NotDone(Refused):
    """Refusal by the service, in its words."""


def post_test(*, subscription: Subscription, now: datetime, nth: int = 0, key: str = "") -> Delivery:
    """Post the newest post now (network) and return its delivery; no wait of the lane applies.

    `nth` counts back from the newest. With a `key`, it is posted once: an existing delivery is returned.

    A destination that refused us for a missing right is tried again; if it accepts, its lane resumes.

    Raises NotDone, also if the destination is disabled or its service rests; NothingToShow without posts;
    LetterError; InvalidDestination.
    """
    forbid_open_transaction()
    bridge, destination = subscription.subscribable, subscription.destination
    _refuse_what_may_not_be_called(destination, now)
    if key and (done := Delivery.objects.filter(kind=Delivery.Kind.TEST, key=key).first()):
        return done
    letters = newest_letters(bridge, now=now, count=nth + 1)
    letter = letters[min(nth, len(letters) - 1)]
    key = key or uuid.uuid4().hex
    # As in delivery.letters.build, in case a worker takes over.
    letter = replace(letter, token=f"test-{key}")
    row = mail_to(
        destination,
        kind=Delivery.Kind.TEST,
        key=key,
        template="",
        context={"subscribable": bridge.pk, **({"nth": nth} if nth else {})},
        now=now,
        options=bridge.options,
        subscription=subscription,
        state=Delivery.State.SENDING,
        lease_token=uuid.uuid4(),
        lease_until=now + LEASE,
    )
    ours = channel(destination.kind)
    recipient = recipient_at(destination)
    row.save(force_insert=True)
    message = ours.compose(letter, recipient._replace(delivery_id=row.pk))
    session = ours.connect(facts_of(row.lane))
    try:
        outcome = _posted(session, message, f"{letter.token}-{row.pk}")
        state = session.new_state() if isinstance(session, StatefulSession) else None
    finally:
        _count_refusals(session, destination.kind, now)
        session.close()
    _record(row, outcome, now, state)
    if not isinstance(outcome, Sent):
        raise NotDone(_words(outcome))
    row.refresh_from_db()
    return row


def _refuse_what_may_not_be_called(destination: Destination, now: datetime) -> None:
    if destination.disabled_at is not None:
        why = destination.disabled_reason or "The service refused it."
        raise NotDone(f"Nothing is posted to {destination.label}: {why} Connect it again first.")
    if why := why_resting(destination.kind, now):
        raise NotDone(why)


def _count_refusals(session: Session, kind: str, now: datetime) -> None:
    if isinstance(session, CountsRefusals) and (number := session.new_refusals()):
        with transaction.atomic():
            count_refusals({kind: number}, said="A test post was refused.", now=now)


def _posted(session: Session, message: Any, key: str) -> Outcome:
    """Retry while the service only needs time for images."""
    began, progress = time.monotonic(), NOTHING
    try:
        while True:
            outcome = session.send(message, key=key, begun_at=None, now=utcnow(), progress=progress)
            waits = isinstance(outcome, Temporary) and outcome.waits and outcome.retry_at is not None
            if not waits or time.monotonic() - began > TRIAL_SECONDS:
                return outcome
            assert isinstance(outcome, Temporary)  # noqa: S101 - for the type checker
            assert outcome.retry_at is not None  # noqa: S101
            progress = outcome.progress or NOTHING
            time.sleep(min(max((outcome.retry_at - utcnow()).total_seconds(), 0.2), 5.0))
    except Exception as error:  # unforeseen: nobody knows whether it was posted
        log.exception("a test post failed")
        return Ambiguous(f"Posting failed in an unforeseen way ({type(error).__name__}).")


@transaction.atomic
def _record(row: Delivery, outcome: Outcome, now: datetime, state: Any) -> None:
    ours = Delivery.objects.filter(pk=row.pk, lease_token=row.lease_token, state=Delivery.State.SENDING)
    if isinstance(outcome, Sent):
        facts = {"state": Delivery.State.SENT, "sent_at": now, "remote_id": outcome.remote_id}
        if ours.update(attempts=1, **facts, **RELEASED):
            RemotePost.objects.create(delivery=row, url=outcome.url, parts=list(outcome.parts))
            end_refusal(row.lane)
    elif isinstance(outcome, Ambiguous):
        # It may be online.
        words = shortened(one_line(outcome.text), LONGEST_TRIAL_ANSWER)
        ours.update(state=Delivery.State.HELD, begun_at=now, attempts=1, last_error=words, **RELEASED)
    else:
        # Nothing was posted.
        ours.delete()
        if isinstance(outcome, Permanent) and outcome.disables:
            Destination.objects.filter(pk=row.destination_id, disabled_at=None).update(
                disabled_at=now, disabled_reason=_words(outcome)
            )
    if state is not None:
        Lane.objects.filter(pk=row.lane_id).update(state=dict(state))


def delete_test(*, delivery: Delivery, now: datetime) -> Delivery:
    """Delete a test post (network) and return the deletion's delivery. Raises NotDone."""
    forbid_open_transaction()
    if delivery.kind != Delivery.Kind.TEST or delivery.subscription is None:
        raise NotDone("Only test posts can be deleted.")
    ours, destination = channel(delivery.destination.kind), delivery.destination
    _refuse_what_may_not_be_called(destination, now)
    letter = letter_without_posts(delivery.subscription.subscribable)
    message = ours.compose(letter, recipient_at(destination, delivery_id=delivery.pk))
    remote = RemotePost.objects.filter(delivery=delivery).first()
    session = ours.connect(facts_of(delivery.lane))
    try:
        if not isinstance(session, Deletes):
            raise NotDone("This service takes nothing back: delete it there.")
        outcome = session.delete(
            message, remote_id=delivery.remote_id, parts=remote.parts if remote else (), now=now
        )
        state = session.new_state() if isinstance(session, StatefulSession) else None
    finally:
        _count_refusals(session, destination.kind, now)
        session.close()
    if state is not None:
        Lane.objects.filter(pk=delivery.lane_id).update(state=dict(state))
    if not isinstance(outcome, Sent):
        raise NotDone(f"It was not deleted. {_words(outcome)}")
    done, _ = Delivery.objects.get_or_create(
        kind=Delivery.Kind.DELETE,
        key=change_key(delivery.pk, 1),
        defaults={
            "destination": destination,
            "subscription": delivery.subscription,
            "lane": delivery.lane,
            "domain": delivery.domain,
            "state": Delivery.State.SENT,
            "remote_id": delivery.remote_id,
            "attempts": 1,
            "created_at": now,
            "due_at": now,
            "sent_at": now,
        },
    )
    return done


def standing_tests(subscription: Subscription) -> list[Delivery]:
    """Return the latest undeleted test posts, newest first."""
    tests = Delivery.objects.filter(
        kind=Delivery.Kind.TEST, subscription=subscription, state=Delivery.State.SENT
    )
    related = ("destination", "subscription__subscribable", "remote_post", "lane__parent")
    rows = {change_key(row.pk, 1): row for row in tests.select_related(*related).order_by("-pk")[:MOST_TESTS]}
    deletions = Delivery.objects.filter(kind=Delivery.Kind.DELETE, key__in=rows)
    gone = set(deletions.values_list("key", flat=True))
    return [row for key, row in rows.items() if key not in gone]


def may_delete(subscription: Subscription) -> bool:
    destination = subscription.destination
    # (Creates no lane for a page. Sessions connect at first use.)
    session = channel(destination.kind).connect(LaneFacts(destination.kind, destination.core))
    try:
        return isinstance(session, Deletes)
    finally:
        session.close()


def _words(outcome: Outcome) -> str:
    text = "" if isinstance(outcome, Sent) else outcome.text
    said = shortened(one_line(text.removeprefix(NOTHING_POSTED)), LONGEST_TRIAL_ANSWER)
    said = f"{said[:1].upper()}{said[1:]}"
    return f"{said} Check there whether it was posted." if isinstance(outcome, Ambiguous) else said


def post_row(delivery: Delivery) -> dict[str, Any]:
    """Return a test for the API. Needs the destination selected."""
    remote = RemotePost.objects.filter(delivery=delivery).first()
    return {
        "id": delivery.pk,
        "destination": delivery.destination.label,
        "url": remote.url if remote else "",
        "remote_id": delivery.remote_id,
    }
