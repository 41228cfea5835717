"""Deliveries in the API, and a newsletter's sending."""

from typing import Any

import pytest

from delivery.models import Delivery
from tests.api import Api, fields, problem
from tests.delivery.ledger import queued, states
from tests.factories import AttemptFactory, DeliveryFactory, IssueFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return Api("sending:write", "newsletters:write")


def test_deliveries_have_the_words_of_the_commands_and_tell_no_link(api: Api) -> None:
    failed = DeliveryFactory(state="failed", attempts=3, last_error="550 no")
    DeliveryFactory(kind="confirmation", context={"confirm_url": "https://x.test/hush/"})
    (row,) = api.get("deliveries/", state="failed").json()["results"]
    assert (row["id"], row["issue"], row["destination"], row["address"]) == (
        failed.pk,
        failed.issue.pk,
        failed.destination.pk,
        failed.destination.label,
    )
    assert (row["state"], row["attempts"], row["last_error"]) == ("failed", 3, "550 no")
    assert b"hush" not in api.get("deliveries/").content


def test_deliveries_are_filtered(api: Api) -> None:
    one, mail = DeliveryFactory(state="sent"), DeliveryFactory(kind="welcome")
    assert api.ids("deliveries/", issue=one.issue.pk, state="sent") == [one.pk]
    assert api.ids("deliveries/", destination=mail.destination.pk) == [mail.pk]
    assert api.ids("deliveries/", subscription=one.subscription.pk) == [one.pk]
    assert api.ids("deliveries/", kind="welcome") == [mail.pk]
    assert api.ids("deliveries/", ordering="-id") == [mail.pk, one.pk]
    assert fields(api.get("deliveries/", state="lost")) == ["state"]


def test_one_delivery_tells_what_did_not_work(api: Api) -> None:
    delivery = DeliveryFactory(state="deferred", held_for="")
    AttemptFactory(delivery=delivery, status="4.3.0")
    (attempt,) = api.get(f"deliveries/{delivery.pk}/").json()["history"]
    assert (attempt["outcome"], attempt["status"], attempt["text"]) == (
        "temporary",
        "4.3.0",
        "451 4.3.0 Try again later",
    )


def test_a_list_takes_as_many_queries_for_ten_as_for_one(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    DeliveryFactory.create_batch(10)
    api.get("deliveries/")
    with django_assert_max_num_queries(2):
        assert len(api.ids("deliveries/")) == 10


def test_a_failed_or_held_delivery_is_tried_again(api: Api) -> None:
    for state in ("failed", "held"):
        delivery = DeliveryFactory(state=state, attempts=5, subscription__status="confirmed")
        row = api.post(f"deliveries/{delivery.pk}/retry/").json()
        assert (row["state"], row["attempts"]) == ("queued", 0)
    sent = DeliveryFactory(state="sent")
    assert "is sent" in problem(api.post(f"deliveries/{sent.pk}/retry/"), 409)["detail"]


def test_a_waiting_delivery_is_cancelled_and_one_that_is_over_is_not(api: Api) -> None:
    waiting = DeliveryFactory(state="held", held_for="pause")
    row = api.post(f"deliveries/{waiting.pk}/cancel/").json()
    assert (row["state"], row["held_for"], row["last_error"]) == ("cancelled", "", "Cancelled by hand.")
    assert api.post(f"deliveries/{waiting.pk}/cancel/").json() == row
    sent = DeliveryFactory(state="sent")
    assert "is sent" in problem(api.post(f"deliveries/{sent.pk}/cancel/"), 409)["detail"]
    assert Delivery.objects.get(pk=sent.pk).state == "sent"


def test_all_sending_of_a_newsletter_is_paused_and_goes_on(api: Api) -> None:
    issue = IssueFactory()
    queued(2, issue=issue)
    path = f"subscribables/{issue.subscribable.name}/"
    row = api.post(f"{path}pause/", reason="The editor is ill.").json()
    assert (row["sending_paused_reason"], row["sending_paused_at"] is not None) == (
        "The editor is ill.",
        True,
    )
    assert api.post(f"{path}pause/").json() == row
    assert api.post(f"{path}resume/").json()["sending_paused_at"] is None
    assert states() == {"queued": 2}
