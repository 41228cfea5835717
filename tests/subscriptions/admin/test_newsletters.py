"""The list of newsletters: the next issue, the result of the last one, and pauses."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.customisation import set_theme
from delivery.models import Delivery
from subscriptions.models import Subscribable
from tests.factories import (
    AssignableFactory,
    DeliveryFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.site.test_admin_journey import text

pytestmark = pytest.mark.django_db
LIST = "admin:subscriptions_subscribable_changelist"


def listed(client: Client) -> str:
    return text(client.get(reverse(LIST)))


def an_issue(newsletter: Subscribable, states: dict[str, int], **fields: Any) -> None:
    issue = IssueFactory(subscribable=newsletter, published_at=utcnow() - timedelta(days=1), **fields)
    for state, count in states.items():
        DeliveryFactory.create_batch(count, issue=issue, state=state)


def test_the_last_issue_says_what_became_of_it(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    an_issue(newsletter, {"sent": 3, "failed": 2}, title="The day before")
    Delivery.objects.all().delete()
    an_issue(newsletter, {"sent": 115, "failed": 2}, title="Off we go")
    page = listed(admin_client)
    assert "Off we go" in page
    assert "115 sent, 2 failed" in page


def test_a_cancelled_one_and_a_paused_one_tell_the_truth(admin_client: Client) -> None:
    an_issue(SubscribableFactory(), {"sent": 1, "cancelled": 4}, cancelled_at=utcnow())
    an_issue(SubscribableFactory(sending_paused_at=utcnow()), {"sent": 2, "held": 3})
    page = listed(admin_client)
    assert "1 sent, 4 cancelled" in page
    assert "paused: 2 sent, 3 waiting" in page


def test_the_next_letter_has_its_date_in_its_own_zone(admin_client: Client) -> None:
    end = datetime(2031, 7, 4, 5, tzinfo=UTC)
    newsletter = SubscribableFactory(arrangement="weekly", time_zone="Europe/Berlin")
    AssignableFactory(subscribable=newsletter, period_start=end - timedelta(days=7), period_end=end)
    SubscribableFactory(stopped=True)
    SubscribableFactory()
    page = listed(admin_client).replace("\N{NO-BREAK SPACE}", " ")
    assert "Fri 4 Jul 2031, 7:00 (Berlin time)" in page
    assert "stopped" in page
    assert "with the next post" in page


def test_it_asks_no_question_for_each_row(admin_client: Client, django_assert_max_num_queries: Any) -> None:
    def add(count: int) -> None:
        for newsletter in SubscribableFactory.create_batch(count, arrangement="weekly"):
            SubscriptionFactory(subscribable=newsletter)
            an_issue(newsletter, {"sent": 1})

    add(2)
    with django_assert_max_num_queries(20) as few:
        listed(admin_client)
    add(8)
    with django_assert_max_num_queries(len(few.captured_queries)):
        listed(admin_client)


def test_it_can_be_sorted_by_the_number_of_subscribers(admin_client: Client) -> None:
    SubscriptionFactory.create_batch(2, subscribable=SubscribableFactory(title="Many"))
    SubscribableFactory(title="None")
    columns = admin_client.get(reverse(LIST)).context["cl"].list_display
    page = text(admin_client.get(f"{reverse(LIST)}?o=-{columns.index('subscribers')}"))
    assert page.index("Many<") < page.index("None<")


def test_what_is_sent_next_comes_first_and_what_has_stopped_last(admin_client: Client) -> None:
    for title, days in (("Late", 5), ("Soon", 2), ("Stopped", 1)):
        end = utcnow() + timedelta(days=days)
        row = SubscribableFactory(title=title, arrangement="weekly", stopped=title == "Stopped")
        AssignableFactory(subscribable=row, period_start=end - timedelta(days=7), period_end=end)
    SubscribableFactory(title="Each")
    rows = admin_client.get(reverse(LIST)).context["cl"].result_list
    assert [row.title for row in rows] == ["Soon", "Late", "Each", "Stopped"]


def test_each_newsletter_has_its_colour_and_its_picture(admin_client: Client) -> None:
    picture = "https://pictures.example/a.png?x=');color:red"
    set_theme(subscribable=SubscribableFactory(), accent="#1a5fb4", header_picture_url=picture)
    page = admin_client.get(reverse(LIST)).content.decode()
    assert "--fl-own: #1a5fb4" in page
    assert "https://pictures.example/a.png?x=%27%29%3Bcolor:red" in page
