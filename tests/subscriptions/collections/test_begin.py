"""A new newsletter of an old feed begins with its last posts, and no other newsletter repeats them."""

from datetime import timedelta

import pytest

from common.clock import utcnow
from delivery.issues.complete import complete_due
from delivery.models import Delivery
from feeds.models import Item
from subscriptions.collections.assign import begin_with, can_begin, latest
from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.rules.edits import CannotEdit
from tests.delivery.ledger import Clock
from tests.factories import ItemFactory, SubscribableFactory, SubscriptionFactory, an_entry
from tests.feeds.documents import a_feed_of

pytestmark = pytest.mark.django_db


def newsletters(arrangement: str) -> tuple[Subscribable, Subscribable]:
    """Return an old and a new newsletter of a feed with three posts, the first of them excluded."""
    entries = [an_entry(number) for number in (1, 2, 3)]
    feed = a_feed_of(reversed(entries))
    for number, entry in enumerate(entries, 1):
        state = Item.State.EXCLUDED if number == 1 else Item.State.CLEARED
        ItemFactory(feed=feed, guid=entry.guid, state=state, entry=None, content_hash="")
    old = SubscribableFactory(last_completed_wti="1", feeds=[feed])
    new = SubscribableFactory(arrangement=arrangement, feeds=[feed])
    for each in (old, new):
        SubscriptionFactory(subscribable=each, status="confirmed")
    return old, new


def test_its_next_issue_has_the_last_posts_and_nobody_else_gets_them() -> None:
    old, new = newsletters("weekly")
    assert begin_with(subscribable=new, count=2, now=utcnow()) == 2
    assert Assignment.objects.filter(assignable__subscribable=new).count() == 2
    clock = Clock(utcnow() + timedelta(days=8))
    Subscribable.objects.update(grace_minutes=0)
    complete_due(clock=clock)
    rows = Delivery.objects.exclude(issue=None)
    assert list(rows.values_list("issue__subscribable", flat=True)) == [new.pk]
    assert rows.get().issue.issue_items.count() == 2  # type: ignore[union-attr]
    assert not old.issues.exists()
    assert set(Item.objects.values_list("state", flat=True)) == {"excluded", "cleared"}
    assert not Item.objects.exclude(entry=None).exists()


def test_a_newsletter_of_every_post_sends_each_of_them() -> None:
    _old, new = newsletters("each")
    assert begin_with(subscribable=new, count=50, now=utcnow()) == 3
    complete_due(clock=Clock(utcnow()))
    assert Delivery.objects.filter(issue__subscribable=new).count() == 3


def test_it_begins_only_once() -> None:
    _old, new = newsletters("weekly")
    assert can_begin(new)
    begin_with(subscribable=new, count=1, now=utcnow())
    assert not can_begin(new)
    with pytest.raises(CannotEdit, match="begun"):
        begin_with(subscribable=new, count=1, now=utcnow())
    assert Assignable.objects.count() == 1


def test_posts_that_wait_for_another_newsletter_are_left_to_it() -> None:
    _old, new = newsletters("weekly")
    ItemFactory(feed=new.feeds.get(), guid=an_entry(4).guid)
    assert len(latest(new, 50)) == 3
