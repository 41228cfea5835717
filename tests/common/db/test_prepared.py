"""Look-ups by SQL that is built once."""

from typing import Any

import pytest

from common.db.prepared import PLACE, Prepared
from subscriptions.models import Subscribable
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db


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
