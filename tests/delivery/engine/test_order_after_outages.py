"""Posts of a serial lane go out in the order of creation, after any outages.

Several issues for one recipient go out in the order of publication.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

import pytest
from django.db.models import Min
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from channels.base import Ambiguous, Outcome, Sent, Temporary
from common.clock import utcnow
from delivery.engine.claim import claim_due
from delivery.engine.send_pass import send_due
from delivery.issues.pause import pause_issue, resume_issue
from delivery.models import Delivery, Issue, Lane
from delivery.rules.outcomes import GIVE_UP, LANE_LONGEST
from subscriptions.models import Subscription
from tests.contracts.bridge import BridgeContract, entry
from tests.contracts.channel import Answer
from tests.delivery.engine.bridge_contracts import a_bridge_of, at_its_service, contracts, look, publish_posts
from tests.delivery.ledger import HOUR, MINUTE, SECOND, a_lane, attempts, claimed, ended, queued, states
from tests.examples import examples, some_now
from tests.factories import NOW, DeliveryFactory, IssueFactory, LaneFactory, SubscriptionFactory
from tests.servers.smtp_server import SmtpServer

AWAY = Temporary("It refuses connections.", stops_lane=True)
DOWN = Temporary("It answered 503.", stops_lane=True, suspect=True)
BROKEN = Temporary("It answered 500.")
SILENT = Ambiguous("The connection ended before its answer was complete.")
TROUBLE: Mapping[str, Outcome] = {"away": AWAY, "down": DOWN, "broken": BROKEN, "silent": SILENT}
KINDS = st.sampled_from(list(TROUBLE))


def serial_lane() -> Lane:
    return a_lane(kind="mastodon", account="bot@mastodon.example", serial=True, concurrency=1)


def sent_through(outages: Sequence[tuple[datetime, datetime, Outcome]], until: datetime) -> list[int]:
    """Work the lane whenever something may be due, at most once a minute; return what it sent, in order."""
    sent, now = [], NOW
    while now < until and Delivery.objects.waiting().exists():
        for row in claimed(now=now):
            outcome = next((what for start, end, what in outages if start <= now < end), Sent("ok"))
            ended(outcome, row, at=now)
            if isinstance(outcome, Sent):
                sent.append(row.pk)
        due = Delivery.objects.waiting().aggregate(first=Min("due_at"))["first"]
        now = max(now + MINUTE, Lane.objects.get().free_at or now, due or now)
    return sent


@pytest.mark.django_db
@pytest.mark.parametrize("trouble", TROUBLE)
def test_after_an_outage_of_two_hours_posts_go_out_in_order(trouble: str) -> None:
    lane, out = serial_lane(), [(NOW, NOW + 2 * HOUR, TROUBLE[trouble])]
    times = [NOW - 5 * MINUTE, NOW, NOW + 30 * MINUTE, NOW + 80 * MINUTE, NOW + 125 * MINUTE]
    rows = [queued(lane=lane, created_at=at, due_at=at)[0].pk for at in times]
    assert sent_through(out, NOW + 6 * HOUR) == rows


@pytest.mark.slow
@pytest.mark.django_db
@settings(max_examples=examples(60))
@given(
    outages=st.lists(
        st.tuples(st.integers(1, 150), st.integers(1, 900), st.sampled_from(list(TROUBLE))), max_size=4
    ),
    gaps=st.lists(st.integers(0, 300), min_size=2, max_size=6),
    pause=st.integers(0, 300),
)
def test_any_sequence_of_outages_keeps_the_order(
    outages: list[tuple[int, int, str]], gaps: list[int], pause: int
) -> None:
    """Outages last up to 15 hours, after so many minutes; a 500 that long may be the message's own."""
    Delivery.objects.all().delete()
    Lane.objects.all().delete()
    lane = serial_lane()
    if pause:
        Lane.objects.update(free_at=NOW + pause * MINUTE)
    spans, at = [], NOW
    for after, minutes, trouble in outages:
        start = at + after * MINUTE
        at = start + (min(minutes, 120) if trouble in ("broken", "silent") else minutes) * MINUTE
        spans.append((start, at, TROUBLE[trouble]))
    created, rows = NOW, []
    for gap in gaps:
        created += gap * MINUTE
        rows.append(queued(lane=lane, created_at=created, due_at=created)[0].pk)
    assert sent_through(spans, NOW + timedelta(days=9)) == rows


@pytest.mark.slow
@pytest.mark.django_db
def test_a_message_that_its_service_answers_by_503_for_days_fails_and_frees_its_lane() -> None:
    lane = serial_lane()
    # All but its last day have passed.
    created = NOW - GIVE_UP + timedelta(days=1)
    poison, other = queued(2, lane=lane, created_at=created)
    now, tries = NOW, 0
    while now < created + GIVE_UP + 5 * HOUR:
        (row,) = claimed(now=now)
        if row.pk == other.pk:
            break
        ended(DOWN, row, at=now)
        tries += 1
        lane.refresh_from_db()
        assert lane.free_at is not None
        assert lane.free_at - now <= LANE_LONGEST * 1.1
        now = lane.free_at
    poison.refresh_from_db()
    assert (poison.state, row.pk) == ("failed", other.pk)
    assert now - created >= GIVE_UP - 5 * HOUR
    assert len(attempts(poison)) == tries


@pytest.mark.django_db
def test_of_an_outage_of_less_than_an_hour_only_the_first_attempt_counts() -> None:
    lane, out = serial_lane(), [(NOW, NOW + 50 * MINUTE, DOWN)]
    (row,) = queued(lane=lane)
    sent_through(out, NOW + 2 * HOUR)
    row.refresh_from_db()
    assert (row.state, row.attempts - 1) == ("sent", 1)


@pytest.mark.django_db
def test_a_message_that_fails_by_itself_for_hours_lets_the_others_pass() -> None:
    lane = serial_lane()
    bad, good = queued(2, lane=lane)
    now = NOW
    while now < NOW + 12 * HOUR:
        for row in claimed(now=now):
            ended(Sent("ok") if row.pk == good.pk else BROKEN, row, at=now)
        good.refresh_from_db()
        if good.state == "sent":
            break
        now += MINUTE
    bad.refresh_from_db()
    assert (good.state, bad.state) == ("sent", "deferred")
    assert HOUR < now - NOW < 6 * HOUR


@pytest.mark.django_db
def test_a_long_delay_that_the_service_named_for_a_message_is_its_own() -> None:
    lane = serial_lane()
    named, other = queued(2, lane=lane, created_at=NOW - 2 * HOUR)
    ended(Temporary("Processing", retry_at=NOW + 3 * HOUR), *claimed())
    assert [row.pk for row in claimed(now=NOW + MINUTE)] == [other.pk]
    named.refresh_from_db()
    assert named.due_at == NOW + 3 * HOUR


@pytest.mark.django_db
def test_the_rest_of_a_post_goes_before_the_next_post() -> None:
    lane = serial_lane()
    first, _ = queued(2, lane=lane, created_at=NOW - 2 * HOUR)
    soon = NOW + 10 * SECOND
    ended(Temporary("The pictures are being prepared.", retry_at=soon, waits=True), *claimed())
    assert claimed(now=NOW + SECOND) == ()
    assert [row.pk for row in claimed(now=soon)] == [first.pk]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback_allowed")
@pytest.mark.parametrize("contract", some_now(contracts()))
@pytest.mark.parametrize("answer", some_now([Answer.BUSY, Answer.RATE_LIMITED]), ids=["503", "429"])
def test_after_two_hours_a_bridge_posts_five_posts_once_and_in_order(
    answer: Answer, contract: type[BridgeContract]
) -> None:
    with at_its_service(contract) as service:
        start, bridge = utcnow(), a_bridge_of(service)
        service.server_says(answer)
        # While it rests, a look finds nothing due.
        for number in (*range(0, 120, 10), *range(120, 150, 3)):
            now = start + number * MINUTE
            if number % 20 == 0 and number < 100:
                link = f"https://blog.example/{number}"
                publish_posts(bridge, now, entry(f"Post{number:02}", link=link, guid=link))
            if number == 120:
                service.server_says(Answer.OK)
            look(now)
        places = [arrival.text for arrival in service.arrived()]
        titles = [f"Post{number:02}" for number in range(0, 100, 20)]
        assert [next(title for title in titles if title in text) for text in places] == titles


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
