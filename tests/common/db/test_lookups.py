"""`any_of`: one of very many values, in one parameter, on both databases.

Look-ups by SQL that is built once.
Statements that PostgreSQL plans once.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from common.db.prepared import PLACE, AnyRows, Prepared, rows_of
from feeds.models import Item
from subscriptions.models import Notice, Subscribable, Suppression
from tests.factories import NOW, FinalItemFactory, SubscribableFactory, SuppressionFactory

SUPPRESSIONS, NEWSLETTERS = Suppression._meta.db_table, Subscribable._meta.db_table
ADD = f"INSERT INTO {SUPPRESSIONS} (kind, core, reason, created_at) VALUES (%s, %s, '', %s) RETURNING core"
NAMES = f"SELECT name, %s FROM {NEWSLETTERS} WHERE name = %s OR name = %s"
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s"
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite prepares by itself")
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
pytestmark = pytest.mark.django_db
ODD = [
    "o'brien@example.org",
    'a"b@example.org',
    "back\\slash@example.org",
    "{braces},comma@example.org",
    "žofie@example.org",
    "日本🦄@example.org",
    "%s@example.org",
    "NULL",
    "",
    " ",
    "1",
]


def cores(values: list[str]) -> set[str]:
    return set(Suppression.objects.filter(core__any_of=values).values_list("core", flat=True))


def test_keys_are_found() -> None:
    rows = SuppressionFactory.create_batch(4)
    pks = [rows[0].pk, rows[2].pk, rows[2].pk, 10**15, -1]
    assert set(Suppression.objects.filter(pk__any_of=pks)) == {rows[0], rows[2]}
    assert Suppression.objects.exclude(pk__any_of=pks).count() == 2


def test_texts_are_found_whatever_is_in_them() -> None:
    for core in ODD:
        SuppressionFactory(core=core)
    SuppressionFactory(core="else@example.org")
    assert cores(ODD) == set(ODD)
    for core in ODD:
        assert cores([core]) == {core}


@pytest.mark.parametrize("field", ["pk", "core"])
def test_of_no_values_none_is_found(field: str) -> None:
    SuppressionFactory()
    assert not Suppression.objects.filter(**{f"{field}__any_of": []}).exists()
    assert Suppression.objects.exclude(**{f"{field}__any_of": []}).exists()


def test_ten_thousand_values_are_one_parameter() -> None:
    row = SuppressionFactory()
    with CaptureQueriesContext(connection) as asked:
        found = Suppression.objects.filter(pk__any_of=[row.pk, *range(10**6, 10**6 + 10_000)])
        sql, params = found.query.sql_with_params()
        assert list(found) == [row]
    assert len(asked) == 1
    assert len(params) == 1
    assert len(sql) < 1000


def test_any_sequence_may_hold_the_values() -> None:
    row = SuppressionFactory()
    given: list[Any] = [[row.pk], (row.pk,), {row.pk}, {row.pk: 1}]
    assert all(Suppression.objects.filter(pk__any_of=values).exists() for values in given)


def test_it_joins_other_conditions_and_changes_rows() -> None:
    one, two = SuppressionFactory.create_batch(2)
    both = Suppression.objects.filter(pk__any_of=[one.pk, two.pk])
    assert list(both.filter(core__any_of=[two.core]).order_by("-pk")) == [two]
    assert both.filter(core=one.core).delete()[0] == 1
    assert list(both) == [two]


class Texts(TestCase):
    @given(
        st.lists(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40),
            max_size=8,
        )
    )
    def test_it_finds_what_in_finds(self, values: list[str]) -> None:
        for core in {*values[::2], "x"}:
            SuppressionFactory(core=core)
        wanted = set(Suppression.objects.filter(core__in=values).values_list("core", flat=True))
        assert cores(values) == wanted


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


def prepared() -> int:
    with connection.cursor() as cursor:
        cursor.execute(PREPARED, [f"SELECT name, $1 FROM {NEWSLETTERS}%"])
        return int(cursor.fetchone()[0])


def test_rows_are_found_again_and_again() -> None:
    SubscribableFactory(name="weekly")
    for _ in range(3):
        assert rows_of(connection, NAMES, ["said", "weekly", "daily"]) == [("weekly", "said")]
    assert rows_of(connection, NAMES, ["said", "monthly", "daily"]) == []


def test_errors_are_djangos_and_undo_their_block_alone() -> None:
    moment = connection.ops.adapt_datetimefield_value(NOW)
    rows_of(connection, ADD, ["email", "a@example.org", moment])
    with pytest.raises(IntegrityError), transaction.atomic():
        rows_of(connection, ADD, ["email", "a@example.org", moment])
    assert Suppression.objects.count() == 1


@on_postgresql
def test_the_statement_is_planned_once_for_a_connection() -> None:
    for _ in range(3):
        rows_of(connection, NAMES, ["said", "weekly", "daily"])
    assert prepared() == 1


@on_postgresql
def test_behind_a_pooler_nothing_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    before = prepared()
    monkeypatch.setattr(connection.connection, "prepare_threshold", None)
    assert rows_of(connection, f"{NAMES} AND TRUE", ["said", "weekly", "daily"]) == []
    assert prepared() == before
