"""The overview shows feeds that need a person, in a constant number of queries.

The checklist of a new site ticks itself, can be hidden, and is gone when all is done.
The issue overview: due, sent and changed issues; fast for any number of rows.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from common.clock import utcnow
from delivery.customisation import set_theme
from feedletter_site.models import Figure, FirstStep
from feedletter_site.monitoring import figures
from feedletter_site.monitoring.attention import alerts
from feedletter_site.monitoring.feed_health import feeds_in_need
from feedletter_site.monitoring.figures import count_again, overview_figures
from feedletter_site.monitoring.first_steps import STEP_NAMES, open_steps
from feedletter_site.monitoring.issue_overview import at_the_end_of, going_out_next, last_issues
from feedletter_site.services.backups import note_back_up
from reader.people.readers import add_reader
from tests.delivery.ledger import queued
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    BridgeFactory,
    DailyFactory,
    DeliveryFactory,
    EveryNFactory,
    FeedFactory,
    IssueFactory,
    ItemFactory,
    LeftFactory,
    PollFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

OWNER = User(is_superuser=True)
pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FIGURES = {
    "view_feed": ["Blog can’t be read"],
    "view_subscription": [">Subscribers<", "New and lost subscriptions"],
    "view_issue": [">Sent last<", "waits for your approval"],
    "view_delivery": ["delivery failed this week"],
    "view_assignable": [">Sent next<"],
}


def failing(days: float = 2, **changes: Any) -> Any:
    usual = {"failures": 9, "failing_since": NOW - days * DAY, "last_polled_at": NOW - HOUR}
    facts = {
        **usual,
        "next_poll_at": NOW + 2 * HOUR,
        "next_poll_why": "backoff",
        "last_error": "It is broken.",
    }
    return FeedFactory(**{**facts, **changes})


def silent(days: int, rhythm: int | None = 600, **changes: Any) -> Any:
    facts = {"rhythm_minutes": rhythm, "first_polled_at": NOW - 400 * DAY, "newest_at": NOW - days * DAY}
    return FeedFactory(**{**facts, **changes})


def said() -> list[tuple[str, str]]:
    return [(alert.sentence, alert.detail) for alert in feeds_in_need(NOW)]


def test_feeds_in_trouble_come_with_what_is_wrong_and_since_when_the_longest_first() -> None:
    FeedFactory()
    failing(1, title="Blog", last_error="It is broken. It is tried again later.")
    failing(title="Gone", status="stopped", last_error="It is gone for good (HTTP 410).")
    FeedFactory(title="Held", held_since=NOW - HOUR)
    failing(status="paused")
    FeedFactory(status="stopped")
    assert said() == [
        ("Gone is gone", "It is gone for good (HTTP 410) · since Sat 28 Feb"),
        ("Blog can’t be read", "It is broken · since Yesterday 12:00"),
        ("Held holds posts until you decide", "since 11:00"),
    ]


def test_of_many_feeds_in_trouble_three_are_named_and_the_rest_is_a_list() -> None:
    for days in range(5):
        failing(days + 1, title=f"{days + 1} days")
    *named, rest = said()
    assert [words for words, _ in named] == [f"{days} days can’t be read" for days in (5, 4, 3)]
    assert rest == ("2 more feeds in trouble", "")


def test_a_feed_that_used_to_publish_and_does_not_is_a_hint() -> None:
    feed = silent(97)
    assert said() == [(f"{feed} has been quiet for 3 months", "")]


@pytest.mark.parametrize(
    ("days", "facts"),
    [
        (29, {}),  # less than a month
        (97, {"rhythm_minutes": 25 * 24 * 60}),  # every 25 days: 97 are less than four times that
        (97, {"rhythm_minutes": None}),  # no known rhythm
        (97, {"status": "paused"}),
        (97, {"first_polled_at": NOW - 3 * DAY}),
    ],
)
def test_a_feed_whose_silence_means_nothing_is_no_hint(days: int, facts: dict[str, Any]) -> None:
    silent(days, **facts)
    assert said() == []


def questions() -> int:
    with CaptureQueriesContext(connection) as asked:
        feeds_in_need(NOW)
    return len(asked)


def test_the_questions_are_few_whatever_is_stored() -> None:
    failing()
    silent(97)
    few = questions()
    for _ in range(10):
        PollFactory.create_batch(3, feed=failing())
        silent(99)
        ItemFactory.create_batch(5, feed=FeedFactory(held_since=NOW))
    assert questions() <= few + 1 <= 5


def test_the_overview_shows_it(admin_client: Client) -> None:
    now = utcnow()
    SubscribableFactory()
    feed = failing(title="Rain & <Sun>", failing_since=now - 3 * DAY)
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert "<bdi>Rain &amp; &lt;Sun&gt; can’t be read</bdi>" in page
    assert f'href="{reverse("admin:feeds_feed_change", args=[feed.pk])}"' in page


def test_everybody_sees_the_figures_of_what_they_may_look_at_and_no_others(client: Client) -> None:
    SubscriptionFactory()
    failing(title="Blog")
    DeliveryFactory(state="failed", created_at=utcnow())
    IssueFactory(published_at=None)
    eve = User.objects.create_user("eve", is_staff=True)
    client.force_login(eve)
    for codename in ("", *FIGURES):
        eve.user_permissions.set(Permission.objects.filter(codename=codename))
        page = client.get("/admin/").content.decode().split('id="content-main"')[1]
        for needed, words in FIGURES.items():
            for word in words:
                assert (word in page) is (needed == codename), (codename, word)


def undone() -> list[str]:
    return [step.name for step in open_steps(email="ada@example.org") if not step.is_done]


@pytest.mark.needs("reader")
def test_each_step_ticks_when_it_is_done_and_in_the_end_the_list_is_gone(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    assert undone() == list(STEP_NAMES)
    feed = FeedFactory()
    assert undone()[0] == "newsletter"
    letter = SubscribableFactory(feeds=[feed])
    set_theme(subscribable=letter, accent="#1a5fb4")
    SubscriptionFactory(subscribable=letter)
    assert undone() == ["mail", "form", "reading", "back_up"]
    add_reader(name="ada", now=NOW)
    settings.EMAIL_URL = "smtp://mail.example.org"
    letter.embed_hosts = "blog.example.org"
    letter.save()
    note_back_up()
    assert open_steps(email="") == []


def test_a_step_is_put_aside_and_so_is_the_whole_list(admin_client: Client) -> None:
    page = reverse("first_steps")
    admin_client.post(page, {"aside": "mail"})
    assert "mail" not in [step.name for step in open_steps(email="")]
    assert "Keep the mailbox" not in admin_client.get("/admin/").content.decode()
    admin_client.post(page, {"aside": "all"})
    assert "First steps" not in admin_client.get("/admin/").content.decode().split('id="content-main"')[1]
    assert "Show hidden steps" in admin_client.get(page).content.decode()
    admin_client.post(page)
    assert undone()[0] == "feed"
    admin_client.post(page, {"aside": "no such step"})
    assert not FirstStep.objects.exists()


@pytest.mark.slow
def test_the_links_carry_what_is_known(admin_client: Client) -> None:
    letter = SubscribableFactory()
    steps = {step.name: step.url for step in open_steps(email="ada@example.org")}
    assert f"subscribable={letter.pk}" in steps["reader"]
    form = admin_client.get(steps["reader"]).content.decode()
    assert "ada@example.org" in form
    assert 'id="put-it-on-your-site"' in admin_client.get(steps["form"]).content.decode()
    for url in steps.values():
        assert admin_client.get(url).status_code == 200, url


def test_who_may_not_set_up_sees_no_list(client: Client) -> None:
    client.force_login(User.objects.create_user("eve", is_staff=True))
    assert client.get(reverse("first_steps")).status_code == 403
    assert "First steps" not in client.get("/admin/").content.decode()


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_a_back_up_ticks_its_step(tmp_path: Path, settings: Any) -> None:
    from django.db import connection

    if connection.vendor == "sqlite":
        call_command("backup", str(tmp_path / "copy"))
        assert FirstStep.objects.get().name == "back_up"


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
