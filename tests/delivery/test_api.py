"""Deliveries in the API, and a newsletter's sending.

Issues in the API: their state, actions and permissions.
Letters by an editor in the API.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from common.clock import utcnow
from delivery.models import Broadcast, Delivery, Issue, IssueCard
from delivery.rules.posts import searchable
from subscriptions.subscribers.tags import tag_people
from tests.api import Api, fields, problem
from tests.delivery.ledger import HOUR, queued, states
from tests.factories import (
    NOW,
    AttemptFactory,
    BridgeFactory,
    BroadcastFactory,
    DeliveryFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    an_issue,
)

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


def staff(name: str, *permissions: str) -> Client:
    client = Client()
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return client


@pytest.fixture
def reader() -> Client:
    """Return a client of staff who may not change issues."""
    return staff("bob", "view_issue")


@pytest.fixture
def editor() -> Client:
    return staff("ada", "change_issue")


def a_draft() -> Issue:
    issue: Issue = IssueFactory(published_at=None)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable)
    return issue


def post(client: Client, issue: Issue, action: str, body: Any = None) -> Any:
    return client.post(f"/api/v1/issues/{issue.pk}/{action}/", body or {}, content_type="application/json")


def test_an_issue_tells_its_state_and_counts(reader: Client, django_assert_max_num_queries: Any) -> None:
    issue = IssueFactory()
    queued(2, issue=issue, state="sent")
    queued(1, issue=issue, state="failed")
    row = reader.get(f"/api/v1/issues/{issue.pk}/").json()
    assert row["state"] == "sent"
    assert (row["counts"]["sent"], row["counts"]["failed"], row["counts"]["queued"]) == (2, 1, 0)
    assert row["url"].endswith(f"/s/{issue.subscribable.name}/archive/{issue.pk}/")
    assert not {"html", "text", "token", "placeholders"} & set(row)
    for _ in range(9):
        queued(1, issue=IssueFactory())
    # One is for the role of the user.
    with django_assert_max_num_queries(8):
        assert len(reader.get("/api/v1/issues/").json()["results"]) == 10


def test_a_draft_is_approved_at_a_time_then_now(editor: Client) -> None:
    issue = a_draft()
    at = (utcnow() + timedelta(hours=1)).isoformat()
    row = post(editor, issue, "approve", {"at": at}).json()
    assert row["state"] == "draft"
    assert row["release_at"] is not None
    assert post(editor, issue, "approve", {"at": "soon"}).status_code == 400
    assert post(editor, issue, "approve", {"at": "2099-01-01T00:00:00Z"}).status_code == 409
    assert post(editor, issue, "approve", {"at": "2020-01-01T00:00:00Z"}).status_code == 409
    assert post(editor, issue, "approve").json()["state"] == "sending"
    assert states() == {"queued": 2}
    answer = post(editor, issue, "approve")
    assert answer.status_code == 409
    assert "was already sent" in answer.json()["detail"]


def test_an_issue_is_paused_resumed_and_cancelled_and_a_draft_discarded(editor: Client) -> None:
    issue = IssueFactory()
    queued(2, issue=issue)
    assert post(editor, issue, "pause").json()["state"] == "paused"
    assert states() == {"held": 2}
    assert post(editor, issue, "resume").json()["counts"]["queued"] == 2
    assert post(editor, issue, "cancel").json()["counts"]["cancelled"] == 2
    draft = a_draft()
    assert post(editor, draft, "pause").status_code == 409
    row = post(editor, draft, "cancel").json()
    assert (row["state"], row["published_at"]) == ("cancelled", None)
    assert post(editor, IssueFactory.build(pk=999_999), "pause").status_code == 404


def test_issues_are_filtered_by_newsletter_and_state() -> None:
    api = Api("sending:read")
    sent, draft = IssueFactory(), a_draft()
    assert api.ids("issues/", subscribable=sent.subscribable.name) == [sent.pk]
    assert api.ids("issues/", state="draft") == [draft.pk]
    assert api.ids("issues/", state="sent") == [sent.pk]


def test_issues_are_searched_by_the_words_of_their_posts_as_in_the_archive() -> None:
    api = Api("sending:read")
    boats, tides = (an_issue(title=title, posts=1) for title in ("On boats", "On tides"))
    for issue, title in ((boats, "Über Häfen"), (tides, "Ebbe")):
        IssueCard.objects.update_or_create(
            issue=issue, defaults={"titles": [title], "words": searchable([issue.title, title], most=999)}
        )
    assert api.ids("issues/", search="hafen boa") == [boats.pk]
    assert api.ids("issues/", search="oats") == []
    assert api.ids("issues/", search="on", subscribable=tides.subscribable.name) == [tides.pk]
    assert api.ids("issues/", search="…") == []


def test_what_failed_of_an_issue_is_tried_again_but_for_who_must_not_be_written_to() -> None:
    api, issue = Api("sending:write"), IssueFactory()
    failed = queued(3, issue=issue, state="failed", created_at=NOW)
    SuppressionFactory(core=failed[0].destination.core)
    path = f"issues/{issue.pk}/retry-failed/"
    nothing = {"failed": 0, "queued": 0, "left": 0, "skipped": 0}
    assert api.post(path, domain="nowhere.example").json() == nothing
    assert api.post(path).json() == {"failed": 3, "queued": 2, "left": 0, "skipped": 1}
    assert states() == {"queued": 2, "failed": 1}
    assert api.get(f"issues/{issue.pk}/").json()["counts"]["queued"] == 2


@pytest.mark.parametrize("action", ["approve", "pause", "resume", "cancel"])
def test_only_staff_who_may_change_issues_do_so(reader: Client, action: str) -> None:
    issue = a_draft()
    assert post(reader, issue, action).status_code == 403
    assert post(Client(), issue, action).status_code in (401, 403)
    assert reader.get(f"/api/v1/issues/{issue.pk}/{action}/").status_code in (403, 405)
    issue.refresh_from_db()
    assert (issue.published_at, issue.cancelled_at) == (None, None)


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
