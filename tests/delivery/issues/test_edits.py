"""An editor's changes of an open collection: sent posts, removed posts, and undoing."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from delivery.issues.complete import complete_due
from delivery.models import Delivery, Issue
from feeds.models import Item
from subscriptions.collections.assign import assign_final
from subscriptions.collections.edits import (
    leave_out,
    leave_out_ahead,
    next_collection,
    put_back,
    put_back_ahead,
    reorder,
    reword,
    send_now,
    settling,
    undo_edit,
    wait_for_me,
)
from subscriptions.models import Assignable, LeftOut
from subscriptions.rules.edits import CannotEdit, Wording
from tests.delivery.collecting import DAY, HOUR, MIDNIGHT, a_newsletter, collect, item_states, open_collection
from tests.factories import NOW, FinalItemFactory, ItemFactory
from tests.races import beside

pytestmark = pytest.mark.django_db


def complete(now: Any = MIDNIGHT) -> int:
    return complete_due(clock=lambda: now)


def a_collection(posts: int = 3, **changes: Any) -> tuple[Assignable, list[Item]]:
    """Return an open collection, and its posts in the letter's order: newest first."""
    subscribable = a_newsletter(**changes)
    items = collect(subscribable, posts)
    return open_collection(subscribable), items[::-1]


def titles(issue: Issue | None = None) -> list[str]:
    issue = issue or Issue.objects.get()
    return [row.entry["title"] for row in issue.issue_items.order_by("position")]


def test_what_is_left_out_is_not_mailed_and_says_so_on_its_own_page() -> None:
    collection, (first, second, third) = a_collection()
    leave_out(assignable_id=collection.pk, item_id=second.pk, now=NOW)
    assert complete() == 1
    assert titles() == [first.title, third.title]
    assert second.title not in Issue.objects.get().html
    second.refresh_from_db()
    assert second.state == "cleared"
    assert "left it out: an editor left it out." in second.reason
    assert complete(MIDNIGHT + DAY) == 0, "it comes in no later issue"
    assert Issue.objects.count() == 1


def test_what_is_put_back_goes_in_its_old_place() -> None:
    collection, items = a_collection()
    leave_out(assignable_id=collection.pk, item_id=items[1].pk, now=NOW)
    assert LeftOut.objects.get().by_hand
    put_back(assignable_id=collection.pk, item_id=items[1].pk, now=NOW)
    assert not LeftOut.objects.exists()
    complete()
    assert titles() == [item.title for item in items]


def test_an_issue_of_which_all_is_left_out_just_ends() -> None:
    collection, items = a_collection(2)
    for item in items:
        leave_out(assignable_id=collection.pk, item_id=item.pk, now=NOW)
    assert complete(MIDNIGHT - HOUR) == 0
    assert Assignable.objects.exists(), "until its time they can be put back"
    complete()
    assert not Issue.objects.exists()
    assert not Assignable.objects.exists()
    assert item_states(items) == {"cleared"}


def test_one_of_every_n_waits_for_another_in_place_of_what_is_left_out() -> None:
    collection, items = a_collection(2, arrangement="every_n", n=2)
    leave_out(assignable_id=collection.pk, item_id=items[0].pk, now=NOW)
    assert complete(NOW) == 0
    collect(collection.subscribable, now=NOW)
    assert complete(NOW) == 1
    assert len(titles()) == 2
    assert items[0].title not in titles()


def test_the_order_is_the_editors_and_what_joins_later_comes_after() -> None:
    collection, (first, second, third) = a_collection()
    reorder(assignable_id=collection.pk, order=[third.pk, first.pk, second.pk])
    (later,) = collect(collection.subscribable)
    complete()
    assert titles() == [third.title, first.title, second.title, later.title]


def test_words_stand_in_the_letter_cleaned() -> None:
    collection, _ = a_collection()
    note = "Hello, *all*. <script>alert(1)</script> [Here](javascript:alert(2))"
    wording = Wording(" Spring\nis here ", note, "See you [there](https://a.example)")
    reword(assignable_id=collection.pk, wording=wording)
    complete()
    issue = Issue.objects.get()
    assert issue.subject == "Spring is here"
    assert "<em>all</em>" in issue.html
    assert "<script>" not in issue.html
    assert 'href="javascript' not in issue.html
    places = [issue.html.index(words) for words in ("<em>all</em>", "<h2 class=", "https://a.example")]
    assert places == sorted(places)
    places = [issue.text.index(words) for words in ("Hello, all.", "====", "See you there")]
    assert places == sorted(places)


def test_one_that_waits_for_its_editor_is_a_draft_at_its_time() -> None:
    collection, items = a_collection()
    leave_out(assignable_id=collection.pk, item_id=items[0].pk, now=NOW)
    wait_for_me(assignable_id=collection.pk, waits=True)
    complete()
    issue = Issue.objects.get()
    assert (issue.published_at, issue.release_at) == (None, None)
    assert [row.item_id for row in issue.set_aside.all()] == [items[0].pk]
    assert not Delivery.objects.exists()


def test_one_that_is_sent_now_goes_before_its_time_and_needs_no_approval() -> None:
    collection, _items = a_collection(2, approval="click")
    assert send_now(assignable_id=collection.pk, now=NOW) == 2
    assert complete(NOW) == 1
    assert Issue.objects.get().published_at == NOW
    assert Delivery.objects.count() == 2
    (later,) = collect(collection.subscribable, now=NOW + HOUR)
    rest = open_collection(collection.subscribable)
    assert (rest.period_start, rest.period_end) == (NOW, MIDNIGHT)
    assert complete(MIDNIGHT) == 1
    assert titles(Issue.objects.latest("pk")) == [later.title]


def test_every_n_is_sent_now_with_fewer_posts_and_the_next_begins() -> None:
    collection, _items = a_collection(2, arrangement="every_n", n=5)
    send_now(assignable_id=collection.pk, now=NOW)
    assert complete(NOW) == 1
    assert len(titles()) == 2
    collect(collection.subscribable)
    assert open_collection(collection.subscribable).within_type_id == "#2"


def test_nothing_to_send_now_is_refused() -> None:
    collection, (item,) = a_collection(1)
    leave_out(assignable_id=collection.pk, item_id=item.pk, now=NOW)
    with pytest.raises(CannotEdit, match="no posts to send"):
        send_now(assignable_id=collection.pk, now=NOW)


def test_each_edit_is_undone_the_latest_first() -> None:
    collection, (first, second, third) = a_collection()
    pk = collection.pk
    leave_out(assignable_id=pk, item_id=first.pk, now=NOW)
    put_back(assignable_id=pk, item_id=first.pk, now=NOW)
    reorder(assignable_id=pk, order=[third.pk, first.pk, second.pk])
    reword(assignable_id=pk, wording=Wording(subject="Mine", note_top="Hi"))
    wait_for_me(assignable_id=pk, waits=True)
    leave_out(assignable_id=pk, item_id=second.pk, now=NOW)
    assert undo_edit(assignable_id=pk, now=NOW) == f"leaving out “{second.title}”"
    assert undo_edit(assignable_id=pk, now=NOW) == "having it wait for you"
    assert undo_edit(assignable_id=pk, now=NOW) == "the change of words"
    collection.refresh_from_db()
    assert (collection.waits, collection.subject, collection.note_top) == (False, "", "")
    assert undo_edit(assignable_id=pk, now=NOW) == "the order of posts"
    assert undo_edit(assignable_id=pk, now=NOW) == f"putting back “{first.title}”"
    assert collection.assignments.get(left_out_at__isnull=False).item_id == first.pk
    undo_edit(assignable_id=pk, now=NOW)
    with pytest.raises(CannotEdit, match="nothing to undo"):
        undo_edit(assignable_id=pk, now=NOW)
    complete()
    assert titles() == [first.title, second.title, third.title]


def test_while_it_is_made_every_edit_is_refused() -> None:
    collection, (item, *_) = a_collection()
    Assignable.objects.update(seal_token=uuid4(), seal_until=NOW)
    for act in (
        lambda: leave_out(assignable_id=collection.pk, item_id=item.pk, now=NOW),
        lambda: reorder(assignable_id=collection.pk, order=[]),
        lambda: reword(assignable_id=collection.pk, wording=Wording("No")),
        lambda: wait_for_me(assignable_id=collection.pk, waits=True),
        lambda: send_now(assignable_id=collection.pk, now=NOW),
        lambda: undo_edit(assignable_id=collection.pk, now=NOW),
    ):
        with pytest.raises(CannotEdit, match="nothing was changed"):
            act()
    Assignable.objects.update(seal_token=None, seal_until=None)
    complete()
    with pytest.raises(CannotEdit, match="has already become an issue"):
        leave_out(assignable_id=collection.pk, item_id=item.pk, now=NOW)


def test_a_post_is_left_out_before_it_has_settled_and_never_goes() -> None:
    subscribable = a_newsletter("each")
    feed = subscribable.feeds.get()
    item, other = ItemFactory(feed=feed), ItemFactory(feed=feed)
    assert {item.pk for item in settling(subscribable, 5)} == {item.pk, other.pk}
    leave_out_ahead(subscribable_id=subscribable.pk, item_id=item.pk, now=NOW)
    leave_out_ahead(subscribable_id=subscribable.pk, item_id=other.pk, now=NOW)
    put_back_ahead(subscribable_id=subscribable.pk, item_id=other.pk)
    Item.objects.update(final_at=NOW)
    assign_final(clock=lambda: NOW)
    complete(NOW)
    assert titles() == [other.title]
    item.refresh_from_db()
    assert item.state == "cleared"
    assert "an editor left it out" in item.reason
    with pytest.raises(CannotEdit, match="has settled by now"):
        put_back_ahead(subscribable_id=subscribable.pk, item_id=item.pk)


def test_other_newsletters_still_send_what_one_leaves_out() -> None:
    collection, items = a_collection(1)
    other = a_newsletter(feeds=list(collection.subscribable.feeds.all()))
    FinalItemFactory(feed=other.feeds.get(), final_at=NOW)
    assign_final(clock=lambda: NOW)
    ours = next_collection(collection.subscribable)
    assert ours is not None
    latest = Item.objects.latest("pk")
    leave_out(assignable_id=ours.pk, item_id=latest.pk, now=NOW)
    complete()
    assert titles(Issue.objects.get(subscribable=other)) == [latest.title]
    assert titles(Issue.objects.get(subscribable=collection.subscribable)) == [items[0].title]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
class TestBesideTheCompletion:
    """Two connections: the edit and the seal take the same lock."""

    def test_an_edit_that_was_first_applies_wholly(self) -> None:
        collection, items = a_collection()
        beside(lambda: leave_out(assignable_id=collection.pk, item_id=items[0].pk, now=NOW), complete)
        assert titles() == [item.title for item in items[1:]]

    def test_an_edit_that_was_second_is_refused_and_changes_nothing(self) -> None:
        from delivery.issues.complete import _sealed

        collection, items = a_collection()

        def edit() -> str:
            try:
                return leave_out(assignable_id=collection.pk, item_id=items[0].pk, now=NOW)
            except CannotEdit as error:
                return str(error)

        sealed, said = beside(lambda: _sealed([collection.pk], MIDNIGHT), edit)
        assert sealed
        assert "nothing was changed" in said
        Assignable.objects.update(seal_token=None, seal_until=None)
        complete()
        assert len(titles()) == 3

    def test_two_editors_one_after_the_other(self) -> None:
        collection, items = a_collection()
        beside(
            lambda: leave_out(assignable_id=collection.pk, item_id=items[0].pk, now=NOW),
            lambda: reorder(assignable_id=collection.pk, order=[items[2].pk, items[0].pk, items[1].pk]),
        )
        complete()
        assert titles() == [items[2].title, items[1].title]
