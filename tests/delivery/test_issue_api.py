"""Issues in the API: their state, actions and permissions."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from common.clock import utcnow
from delivery.models import Issue, IssueCard
from delivery.rules.posts import searchable
from tests.api import Api
from tests.delivery.ledger import queued, states
from tests.factories import NOW, IssueFactory, SubscriptionFactory, SuppressionFactory, an_issue

pytestmark = pytest.mark.django_db


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
