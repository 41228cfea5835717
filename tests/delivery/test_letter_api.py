"""Letters by an editor in the API."""

import pytest

from common.clock import utcnow
from delivery.models import Broadcast, Delivery
from subscriptions.subscribers.tags import tag_people
from tests.api import Api, problem
from tests.delivery.ledger import HOUR
from tests.factories import BridgeFactory, BroadcastFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def test_a_letter_is_written_tried_and_sent() -> None:
    SubscriptionFactory.create_batch(2, subscribable=SubscribableFactory(name="weekly"))
    api = Api("letters:write")
    made = api.post("letters/", subscribable="weekly", subject="Summer")
    assert made.status_code == 201
    pk = made.json()["id"]
    assert (made.json()["state"], made.json()["version"]) == ("draft", 1)
    assert api.patch(f"letters/{pk}/", markdown="We *rest*.", version=1).json()["version"] == 2
    problem(api.patch(f"letters/{pk}/", markdown="Other", version=1), 409)
    assert api.post(f"letters/{pk}/test/", to="ada@example.org").status_code == 200
    assert Delivery.objects.get().kind == "test"
    problem(api.post(f"letters/{pk}/send/", version=1), 409)
    sent = api.post(f"letters/{pk}/send/").json()
    assert (sent["state"], Delivery.objects.filter(issue=sent["issue"]).count()) == ("sent", 2)
    problem(api.post(f"letters/{pk}/send/"), 409)
    problem(api.delete(f"letters/{pk}/"), 409)


def test_a_letter_goes_to_a_segment_that_was_counted() -> None:
    weekly = SubscribableFactory(name="weekly")
    rows = SubscriptionFactory.create_batch(3, subscribable=weekly)
    SubscriptionFactory(subscribable=SubscribableFactory(name="daily"), destination=rows[0].destination)
    tag_people(destinations=[row.destination_id for row in rows[:2]], names=["vip"])
    api = Api("letters:write")
    problem(api.post("letters/", subscribable="weekly", any_of=["vpi"]), 422)
    made = api.post("letters/", subscribable="weekly", subject="A", markdown="B", any_of=["vip"]).json()
    place = f"letters/{made['id']}/"
    made = api.patch(place, others=["daily"]).json()
    assert (made["any_of"], made["none_of"], made["others"]) == (["vip"], [], ["daily"])
    counted = api.get(f"{place}readers/").json()
    assert (counted["count"], counted["of"]) == (2, 3)
    assert counted["to"].startswith("those with the tag “vip”, also of ")
    api.post(f"{place}send/")
    assert Delivery.objects.count() == 2


def test_a_letter_is_scheduled_and_taken_off_again() -> None:
    letter, api = BroadcastFactory(), Api("letters:write")
    at = (utcnow() + HOUR).isoformat()
    assert api.post(f"letters/{letter.pk}/send/", at=at).json()["state"] == "scheduled"
    assert api.ids("letters/", state="scheduled") == [letter.pk]
    assert api.ids("letters/", state="draft") == []
    problem(api.patch(f"letters/{letter.pk}/", subject="Other"), 409)
    assert api.post(f"letters/{letter.pk}/unschedule/").json()["state"] == "draft"
    assert api.delete(f"letters/{letter.pk}/").status_code == 204
    assert not Broadcast.objects.exists()


def test_what_cannot_be_is_refused() -> None:
    api = Api("letters:write")
    problem(api.post("letters/", subscribable="nowhere"), 422)
    problem(api.post("letters/", subscribable=BridgeFactory().name), 422)
    problem(api.post(f"letters/{BroadcastFactory(subject='').pk}/send/"), 422)


def test_a_token_for_issues_writes_no_letters() -> None:
    letter, api = BroadcastFactory(), Api("sending:write")
    assert api.get("letters/").status_code == 403
    assert api.post(f"letters/{letter.pk}/send/").status_code == 403
    reader = Api("letters:read")
    assert reader.get(f"letters/{letter.pk}/").json()["markdown"] == letter.markdown
    assert reader.post(f"letters/{letter.pk}/send/").status_code == 403
