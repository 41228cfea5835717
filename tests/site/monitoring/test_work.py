"""The check for work agrees, for each stage, with what the stage would do."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.ports.events import Event, EventKind, emit
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.webhooks.outbox import add_webhook
from feedletter_site.models import Arrival
from feedletter_site.monitoring.stages import QUESTIONS, stages_without_work
from feeds.models import Feed
from feeds.polling.poll import poll_due
from feeds.work import to_poll
from subscriptions.collections.assign import assign_final
from subscriptions.models import FailedAssignment, ListImport, Subscription
from tests.delivery.two_paces import DAY, World
from tests.examples import some_now
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    DeliveryFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
    IssueFactory,
    LaneFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
WRITES = ("INSERT", "UPDATE", "DELETE")


def with_work(now: datetime = NOW) -> set[str]:
    return set(QUESTIONS) - stages_without_work(now)


def read_feed(**facts: Any) -> Feed:
    """Return a feed that is not due for a long time."""
    feed: Feed = FeedFactory(next_poll_at=NOW + 9 * DAY, fetched_through=NOW, **facts)
    return feed


def collection(newsletter: Any, *, posts: int = 1, **facts: Any) -> None:
    made = AssignableFactory(subscribable=newsletter, **facts)
    for _ in range(posts):
        AssignmentFactory(assignable=made, item__feed=newsletter.feeds.get())


def newsletter(factory: Any = SubscribableFactory, **facts: Any) -> Any:
    return factory(feeds=[read_feed()], **facts)


def test_at_rest_no_stage_has_work_and_one_statement_says_so() -> None:
    SubscriptionFactory(subscribable=newsletter())
    stages_without_work(NOW)
    with CaptureQueriesContext(connection) as asked:
        assert stages_without_work(NOW) == set(QUESTIONS)
    assert len(asked) == 1


def test_what_is_due_later_is_work_then() -> None:
    feed = read_feed()
    assert with_work(feed.next_poll_at - SECOND) == set()
    assert with_work(feed.next_poll_at) == {"feeds.poll"}


@pytest.mark.parametrize(
    "facts", [{"status": "paused"}, {"lease_token": "0" * 32, "lease_until": NOW + HOUR}]
)
def test_feeds_that_nobody_may_read_are_no_work(facts: dict[str, Any]) -> None:
    FeedFactory(next_poll_at=NOW - HOUR, **facts)
    assert with_work() == set()


def test_a_settled_post_is_work_for_whoever_assigns_but_while_it_is_stuck() -> None:
    item = FinalItemFactory(feed=newsletter().feeds.get())
    assert with_work() == {"subscriptions.assign"}
    FailedAssignment.objects.create(item=item, next_try_at=NOW + HOUR)
    assert with_work() == set()
    assert with_work(NOW + 2 * HOUR) == {"subscriptions.assign"}


def test_an_uploaded_list_is_work_until_it_is_taken() -> None:
    row = ListImport.objects.create(subscribable=newsletter(), state="checking")
    assert with_work() == {"subscriptions.lists"}
    ListImport.objects.filter(pk=row.pk).update(state="done")
    assert with_work() == set()


def test_what_came_from_another_program_is_work_but_while_it_waits_for_a_person() -> None:
    row = Arrival.objects.create(source="cordfeeder", file_name="x", state="looking", created_at=NOW)
    assert with_work() == {"feedletter_site.migrate_from"}
    Arrival.objects.filter(pk=row.pk).update(state="looked")
    assert with_work() == set()
    assert "feedletter_site.migrate_from" in with_work(NOW + 8 * DAY)


COLLECTIONS: dict[str, tuple[Callable[[], Any], bool]] = {
    "each": (lambda: collection(newsletter()), True),
    "each, backing off": (lambda: collection(newsletter(), next_try_at=NOW + HOUR), False),
    "empty": (lambda: collection(newsletter(), posts=0), False),
    "every 3, with 2": (lambda: collection(newsletter(EveryNFactory), posts=2, capacity=3), False),
    "every 3, with 3": (lambda: collection(newsletter(EveryNFactory), posts=3, capacity=3), True),
    "every 3, stopped": (lambda: collection(newsletter(EveryNFactory, stopped=True), capacity=3), True),
    "every 3, edited into each": (lambda: collection(newsletter(), capacity=3), True),
    "every 3, waiting long enough": (
        lambda: collection(newsletter(EveryNFactory, max_wait_days=2), capacity=3, opened_at=NOW - 2 * DAY),
        True,
    ),
    "every 3, waiting": (
        lambda: collection(newsletter(EveryNFactory, max_wait_days=2), capacity=3, opened_at=NOW - DAY),
        False,
    ),
    "daily, over": (
        lambda: collection(newsletter(DailyFactory), period_start=NOW - DAY, period_end=NOW),
        True,
    ),
    "daily, open": (
        lambda: collection(newsletter(DailyFactory), period_start=NOW - DAY, period_end=NOW + SECOND),
        False,
    ),
}


@pytest.mark.parametrize("name", some_now(COLLECTIONS))
def test_a_collection_is_work_exactly_when_it_is_issued_now(name: str) -> None:
    arrange, is_work = COLLECTIONS[name]
    arrange()
    assert with_work() == ({"delivery.complete"} if is_work else set())
    assert complete_due(clock=lambda: NOW) == int(is_work)
    assert "delivery.complete" not in with_work()


def test_whatever_else_completing_looks_after_is_work() -> None:
    late = newsletter(DailyFactory)
    late.feeds.update(fetched_through=NOW - DAY)
    AssignableFactory(subscribable=late, period_start=NOW - DAY, period_end=NOW - HOUR)
    assert with_work() == {"delivery.complete"}
    complete_due(clock=lambda: NOW)
    assert with_work() == {"feeds.poll"}
    Feed.objects.update(next_poll_at=NOW + DAY, fetched_through=NOW)
    draft = IssueFactory(published_at=None, release_at=NOW + HOUR, subscribable=late)
    assert with_work() == set()
    assert with_work(draft.release_at) == {"delivery.complete"}
    dropped = read_feed(dropping=True)
    assert with_work() == {"delivery.complete"}
    dropped.delete()
    SubscriptionFactory(ended_at=NOW, subscribable=late)
    assert with_work() == {"delivery.complete"}


def test_sending_has_work_with_a_letter_that_may_go_a_notice_or_a_lost_lease() -> None:
    late = newsletter()
    letter = DeliveryFactory(issue__subscribable=late, due_at=NOW + HOUR)
    assert with_work() == set()
    assert with_work(NOW + HOUR) == {"delivery.send"}
    LaneFactory().__class__.objects.update(paused=True)
    assert with_work(NOW + HOUR) == set()
    letter.__class__.objects.update(state="sending", lease_token="0" * 32, lease_until=NOW)
    assert with_work() == set()
    assert with_work(NOW + SECOND) == {"delivery.send"}
    letter.delete()
    NoticeFactory(subscription__subscribable=late)
    assert with_work() == {"delivery.send"}


def test_a_webhook_that_waits_to_hear_of_something_is_work() -> None:
    hook, _ = add_webhook(name="CRM", url="https://crm.example/hook", events=list(EventKind), now=NOW)
    issue = IssueFactory(subscribable=newsletter())
    emit(Event(EventKind.PUBLISHED, (issue.pk,), NOW, {"recipients": 1}))
    assert with_work() == {"delivery.webhooks"}
    hook.__class__.objects.update(free_at=NOW + HOUR)
    assert with_work() == set()


class Watched(World):
    """World that checks for work before each pass. A pass without work must not write."""

    def work(self) -> None:
        for now in (self.now, self.now + 30 * SECOND):
            self.read(now)
            self.run("subscriptions.assign", assign_final, now)
            self.run("delivery.complete", complete_due, now)
            self.send(now)

    def run(self, stage: str, function: Callable[..., Any], now: datetime) -> None:
        rests = stage in stages_without_work(now)
        with CaptureQueriesContext(connection) as asked:
            function(clock=lambda: now)
        written = [query["sql"] for query in asked if query["sql"].startswith(WRITES)]
        assert not (rests and written), f"{stage} had work at {now}: {written}"


@pytest.mark.slow
@pytest.mark.parametrize("pace", some_now(["twice a week", "daily", "monthly", "three"]))
def test_no_pass_that_was_said_to_have_no_work_writes_anything(pace: str) -> None:
    world = Watched(pace, "weekly" if pace != "weekly" else "daily")
    for day in range(6):
        world.until(world.now + 7 * HOUR)
        world.post()
        world.until(world.now + 17 * HOUR)
        if day == 2:
            world.switch()
    world.until(world.now + 31 * DAY)
    assert sum(world.received().values()) > 0


def test_a_pass_without_work_reads_and_sends_nothing() -> None:
    SubscriptionFactory(subscribable=newsletter())
    assert not any(rows.exists() for rows in to_poll(NOW))
    with CaptureQueriesContext(connection) as asked:
        assert poll_due(clock=lambda: NOW) == []
        assert send_due(clock=lambda: NOW).sent == 0
    assert not [query for query in asked if query["sql"].startswith(WRITES)]
    assert Subscription.objects.count() == 1
