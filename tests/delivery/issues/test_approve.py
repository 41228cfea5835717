"""Drafts: an issue waits for a click or its time, and goes once or never."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from common.ports.panels import CannotAct
from delivery.issues import publish as publishing
from delivery.issues.complete import complete_due
from delivery.issues.publish import (
    approve_issue,
    discard_issue,
    drafts,
    publish,
    release_at,
    release_due,
    restore_issue,
    stop_release,
)
from delivery.models import Delivery, Issue
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, item_states
from tests.delivery.ledger import HOUR, MINUTE
from tests.factories import NOW, IssueFactory, SubscriptionFactory, an_issue

pytestmark = pytest.mark.django_db


def a_draft(readers: int = 2, **facts: Any) -> Issue:
    issue: Issue = IssueFactory(published_at=None, **facts)
    SubscriptionFactory.create_batch(readers, subscribable=issue.subscribable)
    return issue


def test_a_newsletter_that_wants_a_click_gets_an_issue_that_waits() -> None:
    items = collect(a_newsletter(approval="click"), 2)
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    issue = Issue.objects.get()
    assert (issue.published_at, issue.release_at) == (None, None)
    assert not Delivery.objects.exists()
    assert item_states(items) == {"cleared"}
    assert complete_due(clock=lambda: MIDNIGHT + 99 * HOUR) == 0
    assert not Delivery.objects.exists()
    assert approve_issue(issue_id=issue.pk, now=MIDNIGHT + HOUR) == 2
    issue.refresh_from_db()
    assert issue.published_at == MIDNIGHT + HOUR


def test_a_newsletter_with_a_delay_goes_by_itself_then() -> None:
    collect(a_newsletter(approval="delay", approval_minutes=45))
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    assert issue.release_at == MIDNIGHT + 45 * MINUTE
    complete_due(clock=lambda: MIDNIGHT + 44 * MINUTE)
    assert not Delivery.objects.exists()
    complete_due(clock=lambda: MIDNIGHT + 45 * MINUTE)
    issue.refresh_from_db()
    assert issue.published_at == MIDNIGHT + 45 * MINUTE
    assert Delivery.objects.count() == 2


def test_it_counts_what_the_newsletter_wants_when_it_is_completed() -> None:
    subscribable = a_newsletter(approval="none")
    collect(subscribable)
    type(subscribable).objects.update(approval="click")
    complete_due(clock=lambda: MIDNIGHT)
    assert Issue.objects.get().published_at is None


def test_a_stopped_release_waits_for_a_click_and_may_get_another_time() -> None:
    issue = a_draft(release_at=NOW)
    stop_release(issue_id=issue.pk)
    assert release_due(clock=lambda: NOW + HOUR) == 0
    release_at(issue_id=issue.pk, at=NOW + HOUR, now=NOW)
    assert release_due(clock=lambda: NOW + HOUR - MINUTE) == 0
    assert release_due(clock=lambda: NOW + HOUR) == 1
    assert release_due(clock=lambda: NOW + 2 * HOUR) == 0
    assert Delivery.objects.count() == 2


@pytest.mark.parametrize("at", [NOW, NOW - HOUR, NOW + timedelta(days=400)])
def test_a_time_that_has_passed_or_is_years_away_is_refused(at: Any) -> None:
    issue = a_draft()
    with pytest.raises(CannotAct):
        release_at(issue_id=issue.pk, at=at, now=NOW)
    issue.refresh_from_db()
    assert issue.release_at is None


def test_a_discarded_draft_never_goes_and_its_posts_stay_issued() -> None:
    issue = a_draft(release_at=NOW)
    discard_issue(issue_id=issue.pk, now=NOW)
    assert release_due(clock=lambda: NOW + HOUR) == 0
    assert publish(issue_id=issue.pk, now=NOW + HOUR) == 0
    with pytest.raises(CannotAct, match="was discarded"):
        approve_issue(issue_id=issue.pk, now=NOW)
    issue.refresh_from_db()
    assert issue.published_at is None
    assert not Delivery.objects.exists()


def test_discarding_is_taken_back_and_it_waits_for_a_click() -> None:
    issue = a_draft(release_at=NOW)
    discard_issue(issue_id=issue.pk, now=NOW)
    restore_issue(issue_id=issue.pk)
    assert [row.pk for row in drafts()] == [issue.pk]
    assert release_due(clock=lambda: NOW + HOUR) == 0
    assert approve_issue(issue_id=issue.pk, now=NOW) == 2
    with pytest.raises(CannotAct, match="was not discarded"):
        restore_issue(issue_id=issue.pk)


def test_what_has_gone_out_is_no_draft_any_more() -> None:
    issue = a_draft()
    approve_issue(issue_id=issue.pk, now=NOW)
    for act in (
        lambda: approve_issue(issue_id=issue.pk, now=NOW),
        lambda: release_at(issue_id=issue.pk, at=NOW + HOUR, now=NOW),
        lambda: stop_release(issue_id=issue.pk),
        lambda: discard_issue(issue_id=issue.pk, now=NOW),
    ):
        with pytest.raises(CannotAct, match="was already sent"):
            act()
    assert Delivery.objects.count() == 2


def test_who_subscribed_while_it_waited_gets_it() -> None:
    issue = a_draft(readers=1)
    SubscriptionFactory(subscribable=issue.subscribable, confirmed_at=NOW + HOUR)
    assert approve_issue(issue_id=issue.pk, now=NOW + 2 * HOUR) == 2


def test_one_that_cannot_be_released_holds_no_other_up(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, well = a_draft(release_at=NOW - HOUR), a_draft(release_at=NOW)

    def publish_or_fail(*, issue_id: int, now: Any) -> int:
        if issue_id == broken.pk:
            raise ValueError("no lane for this")
        return publish(issue_id=issue_id, now=now)

    monkeypatch.setattr(publishing, "publish_to_readers", publish_or_fail)
    assert release_due(clock=lambda: NOW) == 1
    assert set(Delivery.objects.values_list("issue", flat=True)) == {well.pk}
    assert [row.pk for row in drafts()] == [broken.pk]


def test_readers_see_neither_drafts_nor_what_was_discarded(client: Client) -> None:
    out = an_issue(title="Out now")
    for facts in ({"title": "Secret draft"}, {"title": "Thrown away", "cancelled_at": NOW}):
        hidden = an_issue(subscribable=out.subscribable, published_at=None, **facts)
        assert client.get(f"/s/{out.subscribable.name}/archive/{hidden.pk}/").status_code == 404
    for page in ("", "archive/", "feed.xml", f"archive/{out.pk}/"):
        shown = client.get(f"/s/{out.subscribable.name}/{page}").content.decode()
        assert "Out now" in shown
        assert "Secret draft" not in shown
        assert "Thrown away" not in shown
