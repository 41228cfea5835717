"""After a restore, unsent and newly queued letters are held until somebody releases them."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from channels.base import Sent
from delivery.engine.claim import AlreadyOpen, begin, claim_due, go, held_issues, is_open
from delivery.engine.outcomes import record_outcomes
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery, Restore
from feeds.models import Feed
from tests.console import json_of, printed, refused
from tests.delivery.ledger import MINUTE, Clock, a_lane, a_mail, claimed, ended_task, queued, states
from tests.factories import (
    NOW,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    ItemFactory,
    LaneFactory,
    SubscriptionFactory,
)
from tests.races import beside
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
RESTORED = NOW + timedelta(hours=1)
LATER = NOW + timedelta(hours=2)


def restored() -> Restore:
    begin(now=RESTORED)
    restore = is_open()
    assert restore is not None
    return restore


def test_all_that_waits_or_was_being_sent_is_held() -> None:
    queued(3)
    claimed()
    queued(2)
    DeliveryFactory(issue=IssueFactory(), state="deferred")
    a_mail()
    assert begin(now=RESTORED)[0] == 7
    assert states() == {"held": 7}
    assert set(Delivery.objects.values_list("held_for", "lease_token")) == {("restore", None)}


def test_what_was_finished_or_held_already_stays_as_it_is() -> None:
    issue = IssueFactory()
    for state in ("sent", "failed", "cancelled", "stored"):
        DeliveryFactory(issue=issue, state=state)
    DeliveryFactory(issue=issue, state="held", held_for="pause")
    assert begin(now=RESTORED)[0] == 0
    assert Delivery.objects.get(state="held").held_for == "pause"


def test_every_feed_holds_what_its_next_reading_brings() -> None:
    FeedFactory.create_batch(2)
    ItemFactory()
    assert begin(now=RESTORED)[1] == 1
    assert set(Feed.objects.values_list("hold_next", flat=True)) == {True}


def test_an_issue_that_is_made_later_is_held_when_it_is_due(smtp: SmtpServer) -> None:
    restored()
    issue = IssueFactory(published_at=None, created_at=LATER)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable)
    publish(issue_id=issue.pk, now=LATER)
    send_due(clock=Clock(LATER))
    assert states() == {"held": 2}
    assert smtp.messages == []


@pytest.mark.django_db(transaction=True)
def test_mails_that_somebody_asks_for_after_it_go_out(smtp: SmtpServer) -> None:
    earlier = a_mail()
    restored()
    later = a_mail(created_at=LATER)
    Delivery.objects.filter(pk=earlier.pk).update(state="queued", held_for="")
    send_due(clock=Clock(LATER))
    assert smtp.recipients == [later.destination.core]
    earlier.refresh_from_db()
    assert (earlier.state, earlier.held_for) == ("held", "restore")


@pytest.mark.django_db(transaction=True)
def test_go_sends_all_of_it_once(smtp: SmtpServer) -> None:
    queued(3)
    restored()
    assert go(now=LATER) == 3
    assert is_open() is None
    send_due(clock=Clock(LATER))
    assert sorted(smtp.recipients) == sorted(Delivery.objects.values_list("destination__core", flat=True))
    assert go(now=LATER) == 0


def test_days_of_waiting_do_not_make_a_letter_too_old() -> None:
    (row,) = queued()
    restored()
    go(now=NOW + timedelta(days=30))
    row.refresh_from_db()
    assert (row.created_at, row.last_error) == (NOW + timedelta(days=30), "")


def test_go_keeps_that_a_letter_may_have_been_sent() -> None:
    queued(2)
    begun = Delivery.objects.order_by("pk")[0]
    Delivery.objects.filter(pk=begun.pk).update(begun_at=NOW - MINUTE)
    created = Delivery.objects.order_by("pk")[1].created_at
    restored()
    go(now=LATER)
    assert list(Delivery.objects.order_by("pk").values_list("begun_at", flat=True)) == [NOW - MINUTE, created]
    assert [task.begun_before for task in claimed(now=LATER)] == [NOW - MINUTE, created]


def test_a_second_restore_while_one_is_open_is_refused() -> None:
    restored()
    with pytest.raises(AlreadyOpen, match="already"):
        begin(now=LATER)
    go(now=LATER)
    assert begin(now=LATER)[0] == 0


def test_what_had_been_accepted_before_the_restore_was_known_counts_as_sent() -> None:
    queued()
    (job,) = claimed()
    restored()
    record_outcomes([ended_task(job, Sent("id"), RESTORED)])
    assert states() == {"sent": 1}
    assert go(now=LATER) == 0


def test_what_is_held_is_listed_by_newsletter_and_issue() -> None:
    queued(2)
    a_mail()
    restored()
    assert [(bool(issue), count) for issue, count, _ in held_issues()] == [(False, 1), (True, 2)]


@pytest.mark.django_db(transaction=True)
def test_the_command_holds_shows_cancels_and_goes(smtp: SmtpServer) -> None:
    issue, other = IssueFactory(title="Sent before"), IssueFactory(title="Not sent")
    queued(2, issue=issue)
    queued(1, issue=other)
    said = printed("after_restore")
    assert "Held: 3 deliveries" in said
    assert "after_restore --go" in said
    assert "already" in refused("after_restore")
    assert [row["held"] for row in json_of("after_restore", "--show")["held"]] == [2, 1]
    assert json_of("after_restore", "--cancel-issue", str(issue.pk))["cancelled"] == 2
    assert json_of("after_restore", "--go") == {"queued": 1, "held_posts": 0}
    send_due()
    assert states() == {"cancelled": 2, "sent": 1}
    assert "No restore is open" in refused("after_restore", "--go")


two_connections = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"
)


@pytest.mark.django_db(transaction=True)
@two_connections
def test_a_claim_beside_a_restore_gets_nothing_that_was_there_before() -> None:
    queued(3)
    lane = a_lane()
    _, claimed_ = beside(
        lambda: begin(now=RESTORED),
        lambda: claim_due(lane_id=lane.pk, now=RESTORED, in_flight=0),
        blocks=False,
    )
    assert claimed_.rows == ()
    assert claim_due(lane_id=lane.pk, now=LATER, in_flight=0).rows == ()
    assert states() == {"held": 3}


@pytest.mark.django_db(transaction=True)
@two_connections
def test_a_restore_beside_a_claim_waits_for_it_and_takes_back_what_it_took() -> None:
    queued(3)
    lane = a_lane()
    claim_, (deliveries, _) = beside(
        lambda: claim_due(lane_id=lane.pk, now=RESTORED, in_flight=0), lambda: begin(now=RESTORED)
    )
    assert len(claim_.rows) == deliveries == 3
    assert set(Delivery.objects.values_list("state", "lease_token")) == {("held", None)}


@pytest.mark.django_db(transaction=True)
@two_connections
def test_go_waits_for_a_claim_that_still_holds_and_queues_what_it_held() -> None:
    restored()
    lane = LaneFactory()
    queued(3, lane=lane, created_at=LATER)

    def holding() -> Any:
        return claim_due(lane_id=lane.pk, now=LATER, in_flight=0)

    claim_, released = beside(holding, lambda: go(now=LATER + MINUTE))
    assert (claim_.rows, released) == ((), 3)
    assert states() == {"queued": 3}
