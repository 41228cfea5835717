"""Tags of people, and the segments that they form among a newsletter's subscribers."""

from itertools import product

import pytest

from subscriptions.models import Destination, SubscriberTag, Tagging
from subscriptions.rules.tags import BadTag
from subscriptions.subscribers.tags import (
    delete_tags,
    rename_tag,
    replace_tags,
    subscribers_in,
    tag_people,
    untag_people,
)
from tests.factories import DestinationFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def test_people_are_tagged_once_whatever_the_capitals() -> None:
    ada, bob = DestinationFactory.create(), DestinationFactory.create()
    assert tag_people(destinations=[ada.pk], names=["Press"]) == 1
    assert tag_people(destinations=[ada.pk, bob.pk, 0], names=["press", "board"]) == 2
    assert tag_people(destinations=[ada.pk, bob.pk], names=["PRESS"]) == 0
    assert [tag.name for tag in SubscriberTag.objects.all()] == ["board", "Press"]
    assert Tagging.objects.count() == 4
    assert untag_people(destinations=[ada.pk, bob.pk], names=["PRESS"]) == 2
    assert untag_people(destinations=[ada.pk], names=["press"]) == 0


def test_somebody_erased_gets_no_tags() -> None:
    gone = DestinationFactory.create(erased_at="2026-01-01T00:00Z", disabled_at="2026-01-01T00:00Z")
    assert tag_people(destinations=[gone.pk], names=["press"]) == 0


def test_a_tag_keeps_its_people_under_another_name() -> None:
    ada = DestinationFactory.create()
    replace_tags(destination=ada, names=["press", "board"])
    replace_tags(destination=ada, names=["Board", "new"])
    assert sorted(ada.taggings.values_list("tag__name", flat=True)) == ["board", "new"]
    board = SubscriberTag.objects.get(key="board")
    with pytest.raises(BadTag):
        rename_tag(tag=board, name="NEW")
    assert rename_tag(tag=board, name="Committee").key == "committee"
    assert delete_tags(tags=[board.pk]) == 1
    assert Destination.objects.filter(pk=ada.pk).exists()


def test_a_segment_is_the_confirmed_subscriptions_that_the_rule_holds_for() -> None:
    newsletter, other = SubscribableFactory.create(), SubscribableFactory.create()
    people = {}
    for tags in ((), ("a",), ("b",), ("a", "b"), ("a", "c"), ("a", "b", "c")):
        row = SubscriptionFactory.create(subscribable=newsletter)
        replace_tags(destination=row.destination, names=tags)
        people[row.pk] = tags
    waiting = SubscriptionFactory.create(subscribable=newsletter, status="unconfirmed")
    elsewhere = SubscriptionFactory.create(subscribable=other)
    tag_people(destinations=[waiting.destination_id, elsewhere.destination_id], names=["a", "b"])
    sets = [frozenset(), frozenset("a"), frozenset("bc"), frozenset("x")]
    for any_of, none_of in product(sets, repeat=2):
        found = set(
            subscribers_in([newsletter.pk], any_of=any_of, none_of=none_of).values_list("pk", flat=True)
        )
        fitting = {
            pk
            for pk, tags in people.items()
            if (not any_of or any_of.intersection(tags)) and none_of.isdisjoint(tags)
        }
        assert found == fitting, (any_of, none_of)
