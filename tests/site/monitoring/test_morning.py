"""The issue overview: due, sent and changed issues; fast for any number of rows."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.clock import utcnow
from feedletter_site.models import Figure
from feedletter_site.monitoring import figures
from feedletter_site.monitoring.attention import alerts
from feedletter_site.monitoring.figures import count_again, overview_figures
from feedletter_site.monitoring.issue_overview import at_the_end_of, going_out_next, last_issues
from tests.delivery.ledger import queued
from tests.factories import (
    AssignableFactory,
    AssignmentFactory,
    BridgeFactory,
    DailyFactory,
    DeliveryFactory,
    EveryNFactory,
    IssueFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

OWNER = User(is_superuser=True)
pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every count slow."""
    monkeypatch.setattr(figures, "SLOW_SECONDS", -1)


def test_what_goes_out_next_has_those_with_a_date_first_and_those_that_fill_up_too() -> None:
    now = utcnow()
    fills = AssignableFactory(subscribable=EveryNFactory(title="Three"), capacity=3)
    AssignmentFactory(assignable=fills)
    begun = {"period_start": now - DAY, "period_end": now + DAY}
    AssignmentFactory(assignable=AssignableFactory(subscribable=DailyFactory(title="Daily"), **begun))
    IssueFactory(published_at=None, awaits_reader=True)
    daily, three, first = going_out_next(OWNER, now)
    assert first.when == "After the first subscriber"
    assert (daily.newsletter, daily.figure, daily.people) == ("Daily", "1 post", "No subscribers yet")
    assert daily.when.startswith("Tomorrow ")
    assert (three.newsletter, three.when, three.figure) == ("Three", "After 2 more posts", "1 post")


def test_what_goes_out_next_says_to_how_many_people_except_for_bridges() -> None:
    begun = {"period_start": utcnow() - DAY, "period_end": utcnow() + DAY}
    letter, bridge = DailyFactory(), BridgeFactory(arrangement="daily")
    for newsletter in (letter, bridge):
        SubscriptionFactory.create_batch(2, subscribable=newsletter)
        AssignableFactory(subscribable=newsletter, **begun)
    UnconfirmedFactory(subscribable=letter)
    shown = {card.newsletter: (card.figure, card.people) for card in going_out_next(OWNER, utcnow())}
    assert shown == {str(letter): ("No posts yet", "2 people"), str(bridge): ("No posts yet", "")}


def test_collections_that_fill_up_are_told_however_many_have_a_date_and_a_limit_is_a_date() -> None:
    now = utcnow()
    for ahead in range(1, 10):
        begun = {"period_start": now - DAY, "period_end": now + ahead * DAY}
        AssignmentFactory(assignable=AssignableFactory(subscribable=DailyFactory(), **begun))
    for title, most in (("Three", None), ("Soon", 1)):
        newsletter = EveryNFactory(title=title, max_wait_days=most)
        fills = AssignableFactory(subscribable=newsletter, capacity=3, opened_at=now - DAY / 2)
        AssignmentFactory(assignable=fills)
        AssignmentFactory(assignable=fills, left_out_at=now)
    shown = going_out_next(OWNER, now)
    assert len(shown) == 6
    assert (shown[0].newsletter, shown[0].figure) == ("Soon", "1 post")
    assert (shown[-1].newsletter, shown[-1].when) == ("Three", "After 2 more posts")


def test_an_issue_that_is_overdue_or_failed_is_late() -> None:
    now = utcnow()
    AssignableFactory(period_start=now - 2 * DAY, period_end=now - DAY)
    AssignableFactory(last_error="Too long.", failures=1)
    assert {(card.when, card.tone) for card in going_out_next(OWNER, now)} == {("Late", "bad")}


@pytest.mark.parametrize(
    ("states", "figure", "tone"),
    [
        (("sent", "stored"), "2 of 2", "good"),
        (("sent", "failed"), "1 of 2", "bad"),
        (("sent", "queued", "held"), "1 of 3", "wait"),
        (("sent", "cancelled"), "1 of 2", "still"),
    ],
)
def test_an_issue_that_went_out_has_one_figure(states: tuple[str, ...], figure: str, tone: str) -> None:
    issue = IssueFactory(title="On boats", published_at=utcnow())
    for state in states:
        DeliveryFactory(issue=issue, state=state)
    (card,) = last_issues(overview_figures(utcnow()), utcnow())
    assert (card.title, card.figure, card.tone) == ("On boats", figure, tone)


def test_bridges_are_among_what_went_out_only_if_nothing_else_did() -> None:
    IssueFactory(subscribable=BridgeFactory(), title="Posted", published_at=utcnow())
    assert [card.title for card in last_issues(overview_figures(utcnow()), utcnow())] == ["Posted"]
    IssueFactory(title="On boats", published_at=utcnow())
    assert [card.title for card in last_issues(overview_figures(utcnow()), utcnow())] == ["On boats"]


def test_what_needs_a_person_comes_by_name_with_the_letters_that_wait(admin_user: Any) -> None:
    issue = IssueFactory(title="On boats", paused_at=utcnow(), paused_reason="Paused by hand.")
    queued(3, issue=issue)
    whole = SubscribableFactory(title="Rain", sending_paused_at=utcnow(), sending_paused_reason="New DNS.")
    queued(2, issue=IssueFactory(subscribable=whole, paused_at=utcnow()))
    said = [(alert.sentence, alert.detail) for alert in alerts(admin_user)]
    assert ("“Rain” is paused: 2 emails wait", "New DNS.") in said
    assert (f"“On boats” of {issue.subscribable} is paused: 3 emails wait", "Paused by hand.") in said
    assert sum("is paused" in words for words, _ in said) == 2


def test_the_curve_ends_at_the_present_number_and_knows_who_left_after_confirming() -> None:
    now = utcnow()
    SubscriptionFactory.create_batch(3, confirmed_at=now - 9 * DAY)
    SubscriptionFactory(confirmed_at=now)
    LeftFactory(confirmed_at=now - 9 * DAY, left_at=now - DAY)
    LeftFactory(confirmed_at=None, left_at=now)
    found = overview_figures(now)
    days = [timezone.localdate() - timedelta(days=back) for back in (3, 2, 1, 0)]
    assert at_the_end_of(days, found) == [4, 4, 3, 4]


def test_what_took_long_is_kept_for_the_workers_to_count_and_then_costs_nothing(slow: None) -> None:
    now = utcnow()
    SubscriptionFactory(confirmed_at=now)
    counted = overview_figures(now)
    SubscriptionFactory(confirmed_at=now)
    with CaptureQueriesContext(connection) as asked:
        kept = overview_figures(now)
    assert (len(asked), kept) == (1, counted)
    count_again()
    assert overview_figures(now).subscribers == 2
    Figure.objects.update(counted_at=now - figures.TOO_OLD)
    SubscriptionFactory(confirmed_at=now)
    assert overview_figures(now).subscribers == 3


def test_what_is_quick_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "SLOW_SECONDS", 60)
    Figure.objects.create(
        name=figures.FIGURES_NAME, value={"zone": "UTC", "growth": {}}, counted_at=utcnow() - figures.TOO_OLD
    )
    overview_figures(utcnow())
    assert not Figure.objects.exists()


def test_the_overview_asks_as_many_questions_for_much_as_for_little(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "SLOW_SECONDS", 60)

    def asked() -> int:
        with CaptureQueriesContext(connection) as questions:
            assert admin_client.get("/admin/").status_code == 200
        return len(questions)

    def more(count: int) -> None:
        for _ in range(count):
            issue = IssueFactory(subscribable=DailyFactory(), published_at=utcnow())
            DeliveryFactory.create_batch(2, issue=issue, state="sent", sent_at=utcnow())
            begun = {"period_start": utcnow() - DAY, "period_end": utcnow() + DAY}
            AssignmentFactory(assignable=AssignableFactory(subscribable=issue.subscribable, **begun))
            IssueFactory(published_at=None)

    more(7)
    asked()
    few = asked()
    more(8)
    assert asked() <= few
    assert few <= 85
