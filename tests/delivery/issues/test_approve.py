"""Drafts: an issue waits for a click or its time, and goes once or never.

An editor's changes of a draft: the letter is rendered again from its posts.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from common.ports.panels import CannotAct
from delivery.issues import draft_edits
from delivery.issues import publish as publishing
from delivery.issues.complete import complete_due
from delivery.issues.draft_edits import (
    leave_out_of_draft,
    move_in_draft,
    put_back_in_draft,
    reword_draft,
    undo_in_draft,
)
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
from feeds.models import Item
from subscriptions.collections.edits import leave_out
from subscriptions.models import LeftOut
from subscriptions.rules.edits import CannotEdit, Wording
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, item_states, open_collection
from tests.delivery.ledger import HOUR, MINUTE
from tests.factories import NOW, IssueFactory, SubscriptionFactory, an_issue
from tests.races import beside

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


def a_collected_draft(posts: int = 3, **changes: Any) -> tuple[Issue, list[Item]]:
    """Return a draft that waits for a click, and its posts in order."""
    items = collect(a_newsletter(approval="click", **changes), posts)
    complete_due(clock=lambda: MIDNIGHT)
    return Issue.objects.get(), items[::-1]


def titles() -> list[str]:
    return [row.entry["title"] for row in Issue.objects.get().issue_items.order_by("position")]


def test_what_is_left_out_of_a_draft_is_not_in_its_letter_and_says_so() -> None:
    issue, (first, second, third) = a_collected_draft()
    leave_out_of_draft(issue_id=issue.pk, item_id=second.pk, now=NOW)
    after = Issue.objects.get()
    assert titles() == [first.title, third.title]
    assert second.title in issue.html
    assert second.title not in after.html + after.text
    assert first.title in after.html
    second.refresh_from_db()
    assert "an editor left it out" in second.reason
    approve_issue(issue_id=issue.pk, now=NOW)
    assert Delivery.objects.count() == 2
    assert titles() == [first.title, third.title]


def test_it_is_put_back_and_says_so_no_more() -> None:
    issue, (first, second, third) = a_collected_draft()
    leave_out_of_draft(issue_id=issue.pk, item_id=second.pk, now=NOW)
    put_back_in_draft(issue_id=issue.pk, item_id=second.pk, now=NOW)
    assert titles() == [first.title, third.title, second.title]
    second.refresh_from_db()
    assert (second.reason, LeftOut.objects.count()) == ("", 0)
    undo_in_draft(issue_id=issue.pk, now=NOW)
    assert undo_in_draft(issue_id=issue.pk, now=NOW) == f"leaving out “{second.title}”"
    assert titles() == [first.title, second.title, third.title]


def test_what_was_left_out_while_it_was_collected_can_still_be_put_back() -> None:
    items = collect(a_newsletter(approval="click"), 2)
    collection = open_collection(a_newsletter_of(items))
    leave_out(assignable_id=collection.pk, item_id=items[0].pk, now=NOW)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    assert titles() == [items[1].title]
    put_back_in_draft(issue_id=issue.pk, item_id=items[0].pk, now=NOW)
    assert titles() == [items[1].title, items[0].title]
    items[0].refresh_from_db()
    assert items[0].reason == ""


def a_newsletter_of(items: list[Item]) -> Any:
    return items[0].feed.subscribables.get()


def test_posts_move_and_words_change_and_all_is_undone() -> None:
    issue, (first, second, third) = a_collected_draft()
    move_in_draft(issue_id=issue.pk, item_id=third.pk, way="up", now=NOW)
    assert titles() == [first.title, third.title, second.title]
    move_in_draft(issue_id=issue.pk, item_id=second.pk, way="first", now=NOW)
    assert titles() == [second.title, first.title, third.title]
    reword_draft(issue_id=issue.pk, wording=Wording("Mine", "Hi *you*", ""), now=NOW)
    after = Issue.objects.get()
    assert (after.subject, after.revision) == ("Mine", 3)
    assert "<em>you</em>" in after.html
    for said in ("the change of words", f"moving “{second.title}”", f"moving “{third.title}”"):
        assert undo_in_draft(issue_id=issue.pk, now=NOW) == said
    after = Issue.objects.get()
    assert (after.subject, after.title) == (issue.subject, issue.title)
    assert titles() == [first.title, second.title, third.title]
    with pytest.raises(CannotEdit, match="nothing to undo"):
        undo_in_draft(issue_id=issue.pk, now=NOW)


def test_what_is_being_sent_is_not_changed() -> None:
    issue, (first, *_) = a_collected_draft()
    approve_issue(issue_id=issue.pk, now=NOW)
    with pytest.raises(CannotAct, match="Pause it first"):
        leave_out_of_draft(issue_id=issue.pk, item_id=first.pk, now=NOW)
    assert len(titles()) == 3


def test_one_that_is_edited_meanwhile_is_edited_from_what_is_there_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    issue, (first, second, third) = a_collected_draft()
    render, others = draft_edits._rendered, [second.pk]

    def another_editor_is_faster(issue: Issue, draft: Any) -> Any:
        if others:
            leave_out_of_draft(issue_id=issue.pk, item_id=others.pop(), now=NOW)
        return render(issue, draft)

    monkeypatch.setattr(draft_edits, "_rendered", another_editor_is_faster)
    leave_out_of_draft(issue_id=issue.pk, item_id=first.pk, now=NOW)
    assert titles() == [third.title]
    assert third.title in Issue.objects.get().html


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_an_edit_beside_the_approval_is_refused_and_what_goes_is_whole() -> None:
    issue, (first, *_) = a_collected_draft()

    def edit() -> str:
        try:
            leave_out_of_draft(issue_id=issue.pk, item_id=first.pk, now=NOW)
        except CannotAct as error:
            return str(error)
        return ""

    sent, said = beside(lambda: approve_issue(issue_id=issue.pk, now=NOW), edit)
    assert sent == 2
    assert "It’s being sent" in said
    assert first.title in Issue.objects.get().html
    assert len(titles()) == 3


def test_what_changes_nothing_is_no_edit() -> None:
    issue, (first, *_) = a_collected_draft()
    move_in_draft(issue_id=issue.pk, item_id=first.pk, way="up", now=NOW)
    reword_draft(issue_id=issue.pk, wording=Wording(), now=NOW)
    assert Issue.objects.get().html == issue.html
    with pytest.raises(CannotEdit, match="nothing to undo"):
        undo_in_draft(issue_id=issue.pk, now=NOW)


def test_what_cannot_be_done_to_a_draft_is_said_and_changes_nothing() -> None:
    issue, (only,) = a_collected_draft(1)
    with pytest.raises(CannotEdit, match="discard or cancel the issue"):
        leave_out_of_draft(issue_id=issue.pk, item_id=only.pk, now=NOW)
    for change in (leave_out_of_draft, put_back_in_draft):
        with pytest.raises(CannotEdit, match=draft_edits.NOT_THERE):
            change(issue_id=issue.pk, item_id=only.pk + 1, now=NOW)
    with pytest.raises(CannotEdit, match="not in this issue any more"):
        move_in_draft(issue_id=issue.pk, item_id=only.pk + 1, way="up", now=NOW)
    with pytest.raises(CannotEdit, match="no such issue"):
        leave_out_of_draft(issue_id=issue.pk + 1, item_id=only.pk, now=NOW)
    assert titles() == [only.title]
    assert Issue.objects.get().html == issue.html
