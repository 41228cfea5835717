"""An assistant's proposal changes nothing until an editor accepts it."""

from datetime import timedelta
from typing import Any

import pytest

from common.clock import utcnow
from subscriptions.collections.edits import undo_edit, wording_of
from subscriptions.collections.proposals import GONE, decide, propose
from subscriptions.models import Assignable
from subscriptions.rules.edits import CannotEdit
from tests.delivery.collecting import a_newsletter, collect, open_collection
from tests.factories import BridgeFactory

pytestmark = pytest.mark.django_db
BY = "assistant (laptop)"


def a_proposal(posts: int = 3, **given: Any) -> tuple[Assignable, list[int]]:
    newsletter = a_newsletter()
    order = sorted(item.pk for item in collect(newsletter, posts))
    given = {"order": order[::-1], "words": {"note_top": "Good *morning*"}, **given}
    propose(subscribable=newsletter, by=BY, now=utcnow(), **given)
    return open_collection(newsletter), order


def shown_at(row: Assignable) -> str:
    return str((row.proposal or {})["at"])


def places(row: Assignable) -> list[int | None]:
    return list(row.assignments.order_by("item_id").values_list("place", flat=True))


def test_it_changes_neither_posts_nor_words_nor_time() -> None:
    row, _ = a_proposal()
    assert places(row) == [None, None, None]
    assert (row.note_top, row.waits, row.sent_now_at, row.steps) == ("", False, None, None)


def test_an_editor_uses_it_and_can_undo_each_part() -> None:
    row, _ = a_proposal()
    assert decide(assignable_id=row.pk, at=shown_at(row), accepts=True).endswith("is used.")
    row.refresh_from_db()
    assert (places(row), row.note_top, row.proposal) == ([2, 1, 0], "Good *morning*", None)
    assert [step["said"] for step in row.steps or ()] == [f"the order by {BY}", f"the words by {BY}"]
    assert undo_edit(assignable_id=row.pk, now=utcnow()) == f"the words by {BY}"
    row.refresh_from_db()
    assert wording_of(row).note_top == ""


def test_a_dismissed_one_is_gone() -> None:
    row, _ = a_proposal()
    decide(assignable_id=row.pk, at=shown_at(row), accepts=False)
    row.refresh_from_db()
    assert (places(row), row.note_top, row.proposal) == ([None] * 3, "", None)


def test_one_that_was_replaced_since_the_page_was_shown_is_not_used() -> None:
    row, _ = a_proposal()
    shown = shown_at(row)
    later = utcnow() + timedelta(seconds=1)
    propose(subscribable=row.subscribable, by=BY, order=[], words={"note_top": "Buy this"}, now=later)
    with pytest.raises(CannotEdit, match=GONE):
        decide(assignable_id=row.pk, at=shown, accepts=True)
    row.refresh_from_db()
    assert row.note_top == ""


@pytest.mark.parametrize("order", [[987654], "twice"])
def test_it_names_posts_of_the_next_issue_once(order: Any) -> None:
    newsletter = a_newsletter()
    keys = [item.pk for item in collect(newsletter, 2)]
    wrong = [keys[0], keys[0]] if order == "twice" else order
    with pytest.raises(CannotEdit, match=f"{min(keys)}, {max(keys)}"):
        propose(subscribable=newsletter, by=BY, order=wrong, words={}, now=utcnow())


def test_a_newsletter_without_a_next_issue_or_a_bridge_takes_none() -> None:
    for newsletter in (a_newsletter(), BridgeFactory()):
        with pytest.raises(CannotEdit, match="no next issue"):
            propose(subscribable=newsletter, by=BY, order=[], words={"subject": "x"}, now=utcnow())
