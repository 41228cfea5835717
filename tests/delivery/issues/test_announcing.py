"""iffy:hint-announce in complete collections: omitted posts, and collections without a letter."""

import uuid
from dataclasses import replace

import pytest

from delivery.issues.complete import CollectionChanged, Completed, complete_due, store_issues
from delivery.issues.contents import collected
from delivery.models import Delivery, Issue
from delivery.rules.posts import WHY_LEFT_OUT
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions.models import Assignable, Assignment, Subscribable
from tests.delivery.collecting import DAY, HOUR, MIDNIGHT, a_newsletter, collect, item_states, open_collection
from tests.factories import NOW, FeedFactory

pytestmark = pytest.mark.django_db


def hinted(subscribable: Subscribable, *hints: str) -> list[Item]:
    """Return collected posts with these hints."""
    items = collect(subscribable, len(hints))
    for item, hint in zip(items, hints, strict=True):
        hint_at(item, hint)
    return items


def hint_at(item: Item, hint: str) -> None:
    assert item.entry is not None
    item.entry = replace(Entry.from_json(item.entry), announce=hint).to_json()
    item.save(update_fields=["entry"])


def reasons(items: list[Item]) -> list[str]:
    return [Item.objects.get(pk=item.pk).reason for item in items]


def test_a_post_that_is_never_to_be_announced_is_left_out_of_the_letter() -> None:
    items = hinted(a_newsletter(), "", "never", "piggyback")
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    sent = set(Issue.objects.get().issue_items.values_list("item_id", flat=True))
    assert sent == {items[0].pk, items[2].pk}
    assert item_states(items) == {"cleared"}
    assert Assignment.objects.count() == 0
    assert reasons(items) == ["", WHY_LEFT_OUT["never"], ""]


@pytest.mark.parametrize("hints", [["never"], ["piggyback"], ["piggyback", "never", "piggyback"]])
def test_a_collection_of_which_nothing_is_announced_ends_without_a_letter(hints: list[str]) -> None:
    subscribable = a_newsletter()
    items = hinted(subscribable, *hints)
    name = open_collection(subscribable).within_type_id
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    assert (Issue.objects.count(), Delivery.objects.count()) == (0, 0)
    assert (Assignable.objects.count(), Assignment.objects.count()) == (0, 0)
    assert item_states(items) == {"cleared"}
    assert reasons(items) == [WHY_LEFT_OUT[hint] for hint in hints]
    subscribable.refresh_from_db()
    assert (subscribable.last_completed_wti, subscribable.issued_through) == (name, MIDNIGHT)
    assert complete_due(clock=lambda: MIDNIGHT) == 0


def test_a_post_that_settles_later_does_not_reopen_the_period_that_ended_so() -> None:
    subscribable = a_newsletter()
    hinted(subscribable, "never")
    complete_due(clock=lambda: MIDNIGHT)
    collect(subscribable, now=MIDNIGHT - HOUR)
    assert open_collection(subscribable).period_end == MIDNIGHT + DAY


def test_each_post_by_itself_never_sends_a_piggyback() -> None:
    items = hinted(a_newsletter("each"), "piggyback", "", "never")
    assert complete_due(clock=lambda: NOW) == 3
    assert [issue.within_type_id for issue in Issue.objects.all()] == [str(items[1].pk)]
    assert item_states(items) == {"cleared"}


def test_every_n_counts_them_and_moves_on() -> None:
    subscribable = a_newsletter("every_n", n=2)
    hinted(subscribable, "never", "piggyback")
    assert complete_due(clock=lambda: NOW) == 1
    collect(subscribable, 2)
    assert complete_due(clock=lambda: NOW) == 1
    assert [issue.within_type_id for issue in Issue.objects.all()] == ["#2"]


def test_a_post_that_another_collection_still_needs_is_kept_for_it() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT + HOUR)
    each = a_newsletter("each", feeds=[feed])
    a_newsletter("daily", feeds=[feed])
    items = hinted(each, "piggyback", "")
    assert complete_due(clock=lambda: NOW) == 2
    assert item_states(items) == {"assigned"}
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    daily = Issue.objects.get(subscribable__arrangement="daily")
    assert daily.issue_items.count() == 2
    # It was sent once, so there is nothing to explain.
    assert reasons(items) == ["", ""]


def test_what_else_is_to_be_said_of_a_post_stays() -> None:
    items = hinted(a_newsletter(), "never")
    Item.objects.update(reason="Not in Letter 7.")
    complete_due(clock=lambda: MIDNIGHT)
    assert reasons(items) == [f"Not in Letter 7. {WHY_LEFT_OUT['never']}"]


def test_whoever_lost_the_seal_ends_nothing() -> None:
    subscribable = a_newsletter()
    items = hinted(subscribable, "never")
    collection = open_collection(subscribable)
    contents = collected(collection)
    with pytest.raises(CollectionChanged):
        store_issues([Completed(contents, None, uuid.uuid4())], now=MIDNIGHT)
    assert item_states(items) == {"assigned"}
    assert Assignment.objects.count() == 1


def test_a_collection_that_changed_meanwhile_is_not_ended() -> None:
    subscribable = a_newsletter()
    hinted(subscribable, "never")
    collection = open_collection(subscribable)
    contents = collected(collection)
    collection.seal_token, collection.seal_until = uuid.uuid4(), MIDNIGHT
    (late,) = collect(subscribable)
    Assignment.objects.filter(item=late).update(assignable=collection)
    collection.save()
    with pytest.raises(CollectionChanged):
        store_issues([Completed(contents, None, collection.seal_token)], now=MIDNIGHT)
