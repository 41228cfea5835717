"""Effects of a pending frequency change on issues and deliveries, and its end.

Random posts, a switch at a random moment, two months of time: every post is sent exactly once.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from delivery.issues.frequency_switches import apply_frequency_changes
from delivery.issues.publish import late_subscribers, publish
from delivery.models import Delivery
from subscriptions.models import FrequencyChange, Subscription
from subscriptions.subscribers.admin_changes import pause, resume
from subscriptions.subscribers.frequency import switch
from subscriptions.subscribers.leave import leave, undo_leaving
from tests.delivery.ledger import claimed, queued, states
from tests.delivery.two_paces import DAY, HOUR, MINUTE, START, World
from tests.examples import NIGHTLY, some_now
from tests.factories import (
    NOW,
    DeliveryFactory,
    FinalItemFactory,
    IssueFactory,
    SubscriptionFactory,
    an_issue,
)

MINUTES = 31 * 24 * 60
NESTED = [
    *(("each", other) for other in ("daily", "weekly", "monthly", "three")),
    *(("daily", other) for other in ("weekly", "monthly")),
]
PAIRS = [*NESTED, *((new, old) for old, new in NESTED), ("each", "each"), ("daily", "daily")]
ASKEW = [
    ("weekly", "monthly"),
    ("monthly", "weekly"),
    ("daily at seven", "weekly at six"),
    ("weekly at six", "daily at seven"),
    ("three", "weekly"),
    ("weekly", "three"),
    ("twice a week", "daily at seven"),
    ("daily", "three"),
    ("three", "three"),
]
minutes = st.integers(1, MINUTES)
moments = st.lists(minutes, min_size=1, max_size=14, unique=True)
approvals = st.sampled_from([{}, {"approval": "delay", "approval_minutes": 600}])
pytestmark = pytest.mark.django_db
# START is a Thursday.
MONDAY = datetime(2026, 1, 5, tzinfo=START.tzinfo)


def test_letters_on_their_way_keep_the_old_one_until_they_are_there() -> None:
    world = World("daily", "weekly")
    world.post()
    world.switch()
    world.is_sending = False
    world.until(MONDAY + DAY)
    old = world.reload()
    assert (old.status, old.left_at, old.receives_until) == ("confirmed", None, None)
    assert old.ended_at is not None
    assert states() == {"queued": 1}
    world.is_sending = True
    world.work()
    old = world.reload()
    assert states() == {"sent": 1}
    assert (old.status, old.ended_at) == ("unsubscribed", None)
    assert old.left_at == FrequencyChange.objects.get().settled_at


@pytest.mark.parametrize("state", ["queued", "deferred", "held"])
def test_what_waits_in_whatever_way_is_on_its_way(state: str) -> None:
    world = World("each", "daily")
    DeliveryFactory(
        subscription=world.reader, issue__subscribable=world.old, state=state, due_at=START + 99 * DAY
    )
    world.switch(at_once=True)
    apply_frequency_changes(now=START)
    assert world.reload().status == "confirmed"
    Delivery.objects.update(state="failed")
    apply_frequency_changes(now=START)
    assert world.reload().status == "unsubscribed"


def test_who_was_ended_is_counted_no_more() -> None:
    world = World("daily", "weekly")
    world.switch(at_once=True)
    DeliveryFactory(subscription=world.reader, issue__subscribable=world.old)
    assert world.reload().status == "confirmed"
    assert world.old.subscriptions.confirmed().count() == 0
    assert world.new.subscriptions.confirmed().count() == 1


def test_a_switch_waits_for_a_draft_that_is_the_old_ones() -> None:
    world = World("weekly", "daily", approval="click")
    world.post()
    world.switch()
    world.until(MONDAY + 2 * DAY)
    assert FrequencyChange.objects.get().settled_at is None
    draft = world.old.issues.get()
    assert publish(issue_id=draft.pk, now=world.now) == 1
    for issue in world.new.issues.all():
        assert publish(issue_id=issue.pk, now=world.now) == 0
    world.work()
    assert world.reload().status == "unsubscribed"
    assert set(world.received().values()) == {1}


def test_a_discarded_draft_is_waited_for_no_longer() -> None:
    world = World("weekly", "daily", approval="click")
    world.post()
    world.switch()
    world.until(MONDAY + 2 * DAY)
    world.old.issues.update(cancelled_at=world.now)
    world.new.issues.update(cancelled_at=world.now)
    world.work()
    assert world.reload().status == "unsubscribed"


def test_a_switch_waits_for_feeds_that_were_not_read_as_letters_do() -> None:
    world = World("weekly", "daily")
    world.switch()
    world.is_reading = False
    world.until(MONDAY + 59 * MINUTE)
    assert FrequencyChange.objects.get().settled_at is None
    world.until(MONDAY + 60 * MINUTE)
    assert FrequencyChange.objects.get().settled_at is not None


def test_a_newsletter_that_is_dropped_meanwhile_takes_the_switch_along_and_the_other_goes_on() -> None:
    world = World("daily", "weekly")
    world.switch()
    world.new.delete()
    world.until(START + HOUR)
    item = world.post()
    world.until(START + 9 * DAY)
    assert world.received() == {item.pk: 1}
    assert world.reload().status == "confirmed"


def test_who_left_on_the_way_is_not_brought_back_by_the_end_of_the_switch() -> None:
    world = World("daily", "weekly")
    world.switch()
    leave(subscription=world.reader, now=START, by_reader=True)
    world.until(MONDAY + DAY)
    world.post()
    world.until(MONDAY + 9 * DAY)
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}
    assert not FrequencyChange.objects.filter(settled_at=None).exists()
    assert not Delivery.objects.exists()


@pytest.mark.slow
def test_who_comes_back_after_the_moment_gets_what_they_switched_to() -> None:
    world = World("daily", "weekly")
    world.switch()
    world.until(MONDAY - HOUR)
    leave(subscription=world.reader, now=world.now, by_reader=True)
    world.until(MONDAY + 3 * HOUR)
    assert undo_leaving(subscription=world.reload(), now=world.now)
    world.work()
    assert (world.reload().status, world.joined.status) == ("unsubscribed", "confirmed")
    item = world.post()
    world.until(MONDAY + 9 * DAY)
    assert world.received() == {item.pk: 1}


def test_switching_is_no_leaving_no_farewell_is_mailed() -> None:
    world = World("daily", "weekly", farewell_mail=True)
    world.switch(at_once=True)
    world.work()
    assert world.reload().status == "unsubscribed"
    assert not world.reader.notice_set.exists()


def test_who_came_by_a_switch_is_no_late_subscriber_of_what_they_have_had() -> None:
    world = World("each", "weekly")
    item = world.post()
    world.work()
    world.switch()
    world.until(MONDAY)
    weekly = world.new.issues.get()
    assert list(late_subscribers(weekly)) == []
    world.until(MONDAY + DAY)
    assert list(late_subscribers(weekly)) == []
    assert world.received() == {item.pk: 1}


def test_an_issue_whose_posts_are_gone_goes_by_its_period() -> None:
    """Their feed was deleted while the issue waited for approval."""
    world = World("weekly", "daily")
    world.switch()
    mine = IssueFactory(
        subscribable=world.old, published_at=None, period_start=MONDAY - 7 * DAY, period_end=MONDAY
    )
    later = IssueFactory(
        subscribable=world.old, published_at=None, period_start=MONDAY, period_end=MONDAY + 7 * DAY
    )
    assert publish(issue_id=mine.pk, now=MONDAY) == 1
    assert publish(issue_id=later.pk, now=MONDAY + 7 * DAY) == 0


def test_many_who_switch_cost_a_publication_no_more_queries() -> None:
    world = World("daily", "weekly")

    def queries(readers: int) -> int:
        for one in SubscriptionFactory.create_batch(readers, subscribable=world.old):
            switch(subscription=one, to=world.new, now=START)
        issue = an_issue(subscribable=world.old, published_at=None)
        with CaptureQueriesContext(connection) as captured:
            publish(issue_id=issue.pk, now=START)
        return len(captured)

    queries(1)
    assert queries(1) == queries(20)


def test_without_switches_a_publication_asks_one_question_more() -> None:
    issue = an_issue(published_at=None)
    with CaptureQueriesContext(connection) as captured:
        publish(issue_id=issue.pk, now=NOW)
    assert sum("subscriptions_frequencychange" in query["sql"] for query in captured) == 1


def test_many_settle_together() -> None:
    def queries(readers: int) -> int:
        world = World("daily", "weekly")
        Subscription.objects.filter(pk=world.reader.pk).delete()
        for one in SubscriptionFactory.create_batch(readers, subscribable=world.old):
            switch(subscription=one, to=world.new, now=START)
        type(world.feed).objects.update(fetched_through=MONDAY)
        with CaptureQueriesContext(connection) as captured:
            assert apply_frequency_changes(now=MONDAY) == readers
        assert world.old.subscriptions.filter(status="unsubscribed").count() == readers
        world.old.delete()
        world.new.delete()
        return len(captured)

    assert queries(2) == queries(20)


def test_a_paused_reader_gets_nothing_and_the_row_says_until_when() -> None:
    reader = SubscriptionFactory()
    pause(subscription=reader, until=(NOW + 7 * DAY).date(), now=NOW)
    (row,) = queued(issue=IssueFactory(subscribable=reader.subscribable), subscription=reader)
    assert claimed() == ()
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("cancelled", "Paused until 2026-03-09 00:00 UTC.")


def test_what_was_cancelled_by_a_pause_is_not_sent_later_by_itself() -> None:
    reader = SubscriptionFactory()
    pause(subscription=reader, until=(NOW + 7 * DAY).date(), now=NOW)
    queued(issue=IssueFactory(subscribable=reader.subscribable), subscription=reader)
    claimed()
    resume(subscription=reader)
    assert claimed(now=NOW + timedelta(days=30)) == ()
    assert states() == {"cancelled": 1}


@pytest.mark.parametrize("later", [timedelta(0), timedelta(days=8)])
def test_a_pause_that_ended_or_was_ended_holds_nothing_back(later: timedelta) -> None:
    reader = SubscriptionFactory()
    pause(subscription=reader, until=(NOW + 7 * DAY).date(), now=NOW)
    if not later:
        resume(subscription=reader)
    queued(issue=IssueFactory(subscribable=reader.subscribable), subscription=reader)
    assert len(claimed(now=NOW + later)) == 1


def test_a_pause_does_not_hold_back_a_mail_that_was_asked_for() -> None:
    reader = SubscriptionFactory()
    pause(subscription=reader, until=(NOW + 7 * DAY).date(), now=NOW)
    DeliveryFactory(kind="sign_in", subscription=reader)
    assert len(claimed()) == 1


def test_a_post_of_a_whole_other_feed_changes_nothing() -> None:
    world = World("each", "daily")
    world.switch()
    other: Any = FinalItemFactory(final_at=START)
    world.until(START + 3 * DAY)
    assert world.received() == {}
    assert other.pk


def live_through(world: World, posts: Sequence[int], switch: int, *, lag: int) -> list[int]:
    """Run through time until nothing more can be sent; return the keys of all posts."""
    items = []
    world.is_reading = not lag
    for minute in sorted({*posts, switch}):
        world.until(START + minute * MINUTE)
        if minute in posts:
            items.append(world.post(settled=world.now - lag * MINUTE).pk)
        if minute == switch:
            world.switch()
        world.work()
    world.is_reading = True
    world.until(START + 63 * DAY)
    # Every-n newsletters get enough posts to fill their last issue; nobody checks these.
    for _ in range(3):
        world.post()
        world.work()
    world.until(START + 95 * DAY)
    return items


def how_often(
    old: str, new: str, posts: list[int], switch: int, facts: dict[str, object], *, lag: int = 0
) -> list[int]:
    """Return how often each post was received, in a world that is rolled back afterwards."""
    with transaction.atomic():
        world = World(old, new, **facts)
        items = live_through(world, posts, switch, lag=lag)
        received = world.received()
        assert world.reload().status == "unsubscribed"
        assert (world.joined.status, world.joined.receives_from) == ("confirmed", None)
        assert not Delivery.objects.exclude(state="sent").exists()
        transaction.set_rollback(True)
    return [received[pk] for pk in items]


@NIGHTLY
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(pair=st.sampled_from(PAIRS), posts=moments, switch=minutes, facts=approvals)
def test_every_post_comes_exactly_once(
    pair: tuple[str, str], posts: list[int], switch: int, facts: dict[str, object]
) -> None:
    assert how_often(*pair, posts, switch, facts) == [1] * len(posts)


@NIGHTLY
@settings(max_examples=7, suppress_health_check=list(HealthCheck))
@given(pair=st.sampled_from(ASKEW), posts=moments, switch=minutes, facts=approvals)
def test_where_letters_are_cut_at_different_times_no_post_is_lost(
    pair: tuple[str, str], posts: list[int], switch: int, facts: dict[str, object]
) -> None:
    assert set(how_often(*pair, posts, switch, facts)) <= {1, 2}


@NIGHTLY
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(pair=st.sampled_from(PAIRS + ASKEW), posts=moments, switch=minutes, lag=st.integers(1, 4000))
def test_no_post_is_lost_when_a_feed_was_not_read_for_days(
    pair: tuple[str, str], posts: list[int], switch: int, lag: int
) -> None:
    assert set(how_often(*pair, posts, switch, {}, lag=lag)) <= {1, 2}


@pytest.mark.parametrize(("old", "new"), some_now(PAIRS))
def test_a_switch_in_the_midst_of_posts_neither_loses_nor_repeats_one(old: str, new: str) -> None:
    day = 24 * 60
    posts = [5 * day, 7 * day + 11 * 60, 7 * day + 13 * 60, 11 * day + 30, 31 * day - 40]
    assert how_often(old, new, posts, 7 * day + 12 * 60, {}) == [1] * 5
