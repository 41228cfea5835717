"""After a restore, the admin shows a notice above all else, and lets a person decide."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.engine.claim import begin, is_open
from delivery.models import Delivery
from tests.delivery.ledger import queued, states
from tests.factories import NOW, IssueFactory, ItemFactory

pytestmark = pytest.mark.django_db
PAGE = "admin:delivery_restore_changelist"


@pytest.fixture
def restored() -> None:
    queued(2, issue=IssueFactory(title="Sent before"))
    queued(1, issue=IssueFactory(title="Not sent"))
    ItemFactory()
    begin(now=NOW)


def index(client: Client) -> str:
    return client.get(reverse("admin:index")).content.decode()


def post(client: Client, **data: str) -> str:
    return client.post(reverse(PAGE), data, follow=True).content.decode()


def test_without_a_restore_nothing_is_said(admin_client: Client) -> None:
    assert "backup" not in index(admin_client)
    assert "manage.py after_restore" in admin_client.get(reverse(PAGE)).content.decode()


def test_the_first_page_says_it_first_with_two_answers(admin_client: Client, restored: None) -> None:
    shown = index(admin_client)
    assert "3 deliveries and 1 post are held" in shown
    assert shown.index("A backup was restored") < shown.index("fl-next")
    assert "Look through" in shown
    assert "Send all of it" in shown


def test_sending_all_of_it_is_confirmed_first(admin_client: Client, restored: None) -> None:
    assert "3 deliveries will be sent" in post(admin_client, go="1")
    assert states() == {"held": 3}
    assert "3 deliveries queued so far" in post(admin_client, go="1", confirmed="1")
    assert (states(), is_open()) == ({"queued": 3}, None)


def test_an_issue_that_had_gone_out_is_not_sent(admin_client: Client, restored: None) -> None:
    shown = admin_client.get(reverse(PAGE)).content.decode()
    issue = Delivery.objects.filter(issue__title="Sent before").values_list("issue", flat=True)[0]
    assert shown.index("Not sent") != shown.index("Sent before")
    assert "2 readers will not get" in post(admin_client, issue=str(issue))
    assert states() == {"held": 3}
    assert "2 deliveries of “Sent before” cancelled" in post(admin_client, issue=str(issue), confirmed="1")
    assert states() == {"cancelled": 2, "held": 1}


def test_an_issue_that_is_gone_is_said_so(admin_client: Client, restored: None) -> None:
    assert "no longer exists" in post(admin_client, issue="999999")


def test_only_who_may_change_deliveries_decides(
    client: Client, restored: None, django_user_model: Any
) -> None:
    client.force_login(django_user_model.objects.create_user("staff", is_staff=True))
    assert client.get(reverse(PAGE)).status_code == 403
    assert client.post(reverse(PAGE), {"go": "1", "confirmed": "1"}).status_code == 403
    assert states() == {"held": 3}
