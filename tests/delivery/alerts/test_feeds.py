"""Mails to the admins: one when a feed has failed for a day, one when it recovers, never more."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction

from delivery.alerts.messages import alert_recipients, tell_admins
from delivery.engine.send_pass import send_due
from delivery.letters.build import mail_letter
from delivery.models import Delivery
from feeds.models import Feed
from tests.delivery.ledger import Clock
from tests.factories import NOW, FeedFactory, PollFactory
from tests.races import beside
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ERROR = "The server answered with an error (HTTP 500)."


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("ada", "ada@example.org", "x")


def failing(for_: timedelta = DAY, **changes: Any) -> Feed:
    usual = {
        "failures": 9,
        "failing_since": NOW - for_,
        "last_polled_at": NOW - HOUR,
        "next_poll_at": NOW + HOUR,
        "last_error": ERROR,
    }
    feed: Feed = FeedFactory(**{**usual, **changes})
    return feed


def reads_again(feed: Feed, at: Any) -> None:
    Feed.objects.filter(pk=feed.pk).update(
        failures=0, failing_since=None, last_error="", last_polled_at=at, fetched_through=at
    )


def subjects() -> list[str]:
    return [row.context["subject"] for row in Delivery.objects.filter(kind="alert").order_by("pk")]


def text_of(row: Delivery) -> str:
    return mail_letter(row, now=NOW).text


def html_of(row: Delivery) -> str:
    return mail_letter(row, now=NOW).html


@pytest.mark.usefixtures("admin")
def test_an_admin_gets_one_mail_when_a_feed_has_failed_for_a_day_and_one_when_it_recovers() -> None:
    FeedFactory.create_batch(3)
    feed = failing(title="Blog")
    for minute in range(5):
        tell_admins(now=NOW + minute * MINUTE)
    assert subjects() == ["“Blog” can’t be read"]
    Feed.objects.filter(pk=feed.pk).update(next_poll_at=NOW + 30 * DAY)
    for day in range(1, 9):
        tell_admins(now=NOW + day * DAY)
    reads_again(feed, NOW + 9 * DAY)
    for minute in range(5):
        tell_admins(now=NOW + 9 * DAY + minute * MINUTE)
    assert subjects() == ["“Blog” can’t be read", "“Blog” can be read again"]


@pytest.mark.usefixtures("admin")
def test_a_feed_that_fails_for_less_than_a_day_is_no_mail() -> None:
    feed = failing(DAY - MINUTE)
    assert tell_admins(now=NOW) == 0
    reads_again(feed, NOW)
    assert tell_admins(now=NOW + DAY) == 0


@pytest.mark.usefixtures("admin")
def test_the_mail_says_what_is_wrong_and_leads_to_the_feed(settings: Any) -> None:
    settings.SITE_URL = "https://letters.example"
    FeedFactory.create_batch(3)
    feed = failing(title="Rain & <Sun>")
    tell_admins(now=NOW)
    row = Delivery.objects.get()
    text, html = text_of(row), html_of(row)
    link = f"https://letters.example/admin/feeds/feed/{feed.pk}/change/"
    assert f"Last error: {ERROR}" in text
    assert "“Rain & <Sun>” has been failing for 1 day: 9 readings in a row" in text
    assert f"Look at it: {link}" in text
    assert "next on 2 Mar 2026, 13:00 UTC: after failures it is read less" in " ".join(text.split())
    assert f'href="{link}"' in html
    assert "Rain &amp; &lt;Sun&gt;" in html
    assert "<Sun>" not in html
    assert "\n\n\n" not in text


@pytest.mark.usefixtures("admin")
def test_feeds_that_fail_together_are_one_mail() -> None:
    FeedFactory()
    for number in range(40):
        failing(DAY - number * 3 * MINUTE, title=f"Blog {number}")
    assert tell_admins(now=NOW) == 1
    row = Delivery.objects.get()
    assert row.context["subject"] == "40 feeds can’t be read"
    assert text_of(row).count(ERROR) == 30
    assert "- and 10 more\n" in text_of(row)
    assert html_of(row).count("<li") == 31
    assert "/admin/feeds/feed/?health=failing" in html_of(row)
    assert Feed.objects.filter(alerted_at=NOW).count() == 40
    assert len(row.key) <= 128


@pytest.mark.usefixtures("admin")
def test_when_every_feed_fails_the_mail_suspects_our_own_network() -> None:
    for number in range(3):
        failing(DAY - number * MINUTE)
    tell_admins(now=NOW)
    row = Delivery.objects.get()
    assert row.context["subject"] == "None of your 3 feeds can be read"
    assert "this server can reach the Internet" in " ".join(text_of(row).split())


@pytest.mark.usefixtures("admin")
def test_recoveries_that_trickle_in_are_gathered() -> None:
    """After a network failure, back-off lets feeds recover one after the other."""
    FeedFactory()
    feeds = [failing() for _ in range(6)]
    tell_admins(now=NOW)
    for number, feed in enumerate(feeds):
        now = NOW + HOUR + number * 20 * MINUTE
        reads_again(feed, now)
        tell_admins(now=now + MINUTE)
    for minute in range(0, 600, 10):
        tell_admins(now=NOW + 3 * HOUR + minute * MINUTE)
    assert subjects()[1:] == [f"“{feeds[0]}” can be read again", "5 feeds can be read again"]


@pytest.mark.usefixtures("admin")
def test_a_feed_that_is_gone_is_one_mail() -> None:
    feed = failing(HOUR, status="stopped", failures=1, title="Gazette")
    PollFactory(feed=feed, outcome="failed", status=410)
    tell_admins(now=NOW)
    tell_admins(now=NOW + DAY)
    assert subjects() == ["“Gazette” is gone"]
    assert "permanently gone (HTTP 410)" in " ".join(text_of(Delivery.objects.get()).split())


@pytest.mark.usefixtures("admin")
def test_several_that_are_gone_are_one_mail() -> None:
    for _ in range(2):
        PollFactory(feed=failing(HOUR, status="stopped"), outcome="failed", status=410)
    tell_admins(now=NOW)
    assert subjects() == ["2 feeds are gone"]
    assert text_of(Delivery.objects.get()).count("https://blog.example/") == 2


def people() -> None:
    User.objects.create_superuser("ada", "ada@example.org", "x")
    User.objects.create_superuser("same", "ADA@example.org", "x")
    User.objects.create_superuser("nowhere", "", "x")
    User.objects.create_superuser("left", "left@example.org", "x", is_active=False)
    User.objects.create_user("reader", "reader@example.org", "x")
    User.objects.create_user("clerk", "clerk@example.org", "x", is_staff=True)
    keeper = User.objects.create_user("keeper", "keeper@example.org", "x", is_staff=True)
    keeper.user_permissions.add(Permission.objects.get(codename="view_feed"))


def test_told_is_who_may_see_feeds_and_has_an_address_each_address_once() -> None:
    people()
    failing()
    assert tell_admins(now=NOW) == 2
    cores = Delivery.objects.order_by("pk").values_list("destination__core", flat=True)
    assert sorted(core.lower() for core in cores) == ["ada@example.org", "keeper@example.org"]


def test_while_nobody_can_be_told_nothing_counts_as_told() -> None:
    failing()
    assert tell_admins(now=NOW) == 0
    User.objects.create_superuser("ada", "ada@example.org", "x")
    assert tell_admins(now=NOW + MINUTE) == 1


def test_an_address_that_is_none_stops_nobody_else() -> None:
    User.objects.create_superuser("bad", "not an address", "x")
    User.objects.create_superuser("ada", "ada@example.org", "x")
    failing()
    assert tell_admins(now=NOW) == 1


@pytest.mark.usefixtures("admin")
def test_the_mail_and_the_mark_are_one_transaction() -> None:
    feed = failing()
    with transaction.atomic():
        tell_admins(now=NOW)
        transaction.set_rollback(True)
    feed.refresh_from_db()
    assert (feed.alerted_at, Delivery.objects.count()) == (None, 0)


@pytest.mark.usefixtures("admin")
def test_the_same_trouble_has_the_same_key_and_is_queued_once() -> None:
    feed = failing()
    tell_admins(now=NOW)
    Feed.objects.update(alerted_at=None)  # as if the mark had been lost
    Feed.objects.update(alerted_at=None, next_poll_at=NOW + DAY)
    tell_admins(now=NOW + 4 * HOUR)
    key = Delivery.objects.get().key
    assert key.startswith(f"feed:{feed.pk}:20260301T120000:failing:")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.usefixtures("admin")
def test_two_workers_tell_once_and_do_not_wait_for_each_other() -> None:
    failing()
    alert_recipients(NOW)  # created before the transaction; `beside` runs everything in one
    told: Sequence[int] = beside(lambda: tell_admins(now=NOW), lambda: tell_admins(now=NOW), blocks=False)
    assert tuple(told) == (1, 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("admin")
def test_the_mail_arrives(smtp: SmtpServer) -> None:
    failing(title="Blog")
    tell_admins(now=NOW)
    assert send_due(clock=Clock()).sent == 1
    assert smtp.recipients == ["ada@example.org"]
    assert smtp.messages[0].subject == "“Blog” can’t be read"


def test_nothing_due_asks_one_question(django_assert_num_queries: Any) -> None:
    FeedFactory.create_batch(3)
    with django_assert_num_queries(1):
        tell_admins(now=NOW)
