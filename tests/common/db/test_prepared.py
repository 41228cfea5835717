"""Look-ups by SQL that is built once."""

from datetime import timedelta
from typing import Any

import pytest

from common.db.prepared import PLACE, AnyRows, Prepared
from feeds.models import Item
from subscriptions.models import Notice, Subscribable
from tests.factories import NOW, FinalItemFactory, SubscribableFactory

pytestmark = pytest.mark.django_db
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def lookup() -> Prepared[Subscribable]:
    return Prepared(lambda name: Subscribable.objects.with_pages().named(name))


def test_the_row_is_the_one_the_orm_finds() -> None:
    SubscribableFactory(name="other")
    SubscribableFactory(name="weekly", params={"a": "ž"}, options={}, at="07:30", arrangement="weekly")
    found, theirs = lookup().first("weekly"), Subscribable.objects.get(name="weekly")
    assert found is not None
    for field in Subscribable._meta.concrete_fields:
        assert getattr(found, field.attname) == getattr(theirs, field.attname), field
    found.title = "Changed"
    found.save()
    theirs.refresh_from_db()
    assert theirs.title == "Changed"


def test_it_may_be_asked_again_for_another_and_sees_what_changed() -> None:
    ask = lookup()
    assert ask.first("weekly") is None
    letter = SubscribableFactory(name="weekly", title="Weekly")
    SubscribableFactory(name="daily", title="Daily")
    assert [str(ask.first(name)) for name in ("weekly", "daily", "weekly")] == ["Weekly", "Daily", "Weekly"]
    Subscribable.objects.filter(pk=letter.pk).update(visibility="private")
    assert ask.first("weekly") is None


@pytest.mark.parametrize("name", ["", "%s", "'; --", "ž" * 500, PLACE])
def test_any_text_may_be_asked_for(name: str) -> None:
    assert lookup().first(name) is None


def test_one_question_each(django_assert_num_queries: Any) -> None:
    ask = lookup()
    with django_assert_num_queries(2):
        ask.first("a")
        ask.first("b")


def test_any_rows_are_asked_for_at_the_given_time() -> None:
    due = AnyRows(lambda now: (Notice.objects.all(), Item.objects.filter(final_at__lte=now - HOUR)))
    assert not due.at(NOW)
    FinalItemFactory(final_at=NOW)
    assert [due.at(NOW + wait) for wait in (HOUR - SECOND, HOUR)] == [False, True]
    assert not due.at(NOW)


def test_any_rows_of_either_queryset_count() -> None:
    some = AnyRows(lambda _: (Notice.objects.all(), Item.objects.filter(title="It’s 5 % off")))
    assert not some.at(NOW)
    FinalItemFactory(title="It’s 5 % off")
    assert some.at(NOW)
