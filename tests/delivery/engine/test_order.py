"""Several issues for one recipient go out in the order of publication."""

from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from delivery.engine.claim import claim_due
from delivery.engine.send_pass import send_due
from delivery.issues.pause import pause_issue, resume_issue
from delivery.models import Delivery, Issue
from subscriptions.models import Subscription
from tests.delivery.ledger import a_lane, claimed, states
from tests.factories import NOW, DeliveryFactory, IssueFactory, LaneFactory, SubscriptionFactory
from tests.servers.smtp_server import SmtpServer


def two_issues(readers: int, **lane: int) -> tuple[list[Subscription], list[Issue]]:
    made_lane = a_lane(**lane)
    subscriptions = SubscriptionFactory.create_batch(readers)
    issues: list[Issue] = [
        cast(Issue, IssueFactory(published_at=NOW, subject=f"Issue {number}")) for number in (1, 2)
    ]
    for issue in issues:
        for subscription in subscriptions:
            DeliveryFactory(
                issue=issue, lane=made_lane, subscription=subscription, destination=subscription.destination
            )
    return subscriptions, issues


@pytest.mark.django_db(transaction=True)
def test_issues_that_one_resume_lets_go_keep_their_order_for_each_reader(smtp: SmtpServer) -> None:
    readers, issues = two_issues(4, concurrency=8)
    for issue in issues:
        pause_issue(issue_id=issue.pk, now=NOW)
    for issue in reversed(issues):
        resume_issue(issue_id=issue.pk, now=NOW)
    # Its first letter is slow: the second would overtake it on another connection.
    smtp.state.slow["rcpt"] = 0.1
    assert send_due().sent == 8
    for reader in readers:
        subjects = [one.subject for one in smtp.messages if one.recipient == reader.destination.core]
        assert subjects == ["Issue 1", "Issue 2"]


@pytest.mark.django_db
def test_a_letter_waits_while_an_earlier_issue_is_on_its_way_to_its_reader() -> None:
    two_issues(1, concurrency=8)
    first = claimed()
    assert len(first) == 1
    assert claimed() == ()
    assert states() == {"sending": 1, "queued": 1}


@pytest.mark.django_db
def test_letters_that_wait_for_others_keep_nobody_else_from_being_claimed() -> None:
    _, issues = two_issues(2, concurrency=1)
    claimed()
    late = DeliveryFactory(issue=issues[1], lane=LaneFactory._meta.model.objects.get())
    (row,) = claim_due(lane_id=late.lane_id, now=NOW, in_flight=5).rows
    assert row.pk == late.pk


class Claims(TestCase):
    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 0)), max_size=12))
    def test_a_claim_has_the_earliest_issue_of_each_recipient(self, rows: list[tuple[int, int]]) -> None:
        lane = a_lane(concurrency=8)
        readers = SubscriptionFactory.create_batch(4)
        for reader, minutes in rows:
            DeliveryFactory(
                issue=IssueFactory(),
                lane=lane,
                subscription=readers[reader],
                destination=readers[reader].destination,
                due_at=NOW + timedelta(minutes=minutes),
            )
        order: dict[int, list[int]] = {}
        while got := claim_due(lane_id=lane.pk, now=NOW, in_flight=0).rows:
            assert len({row.destination_id for row in got}) == len(got)
            for row in got:
                order.setdefault(row.destination_id, []).append(row.pk)
            Delivery.objects.filter(pk__in=[row.pk for row in got]).update(
                state="sent", lease_token=None, lease_until=None
            )
        assert all(pks == sorted(pks) for pks in order.values())
        assert sum(map(len, order.values())) == len(rows)
