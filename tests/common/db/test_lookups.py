"""`any_of`: one of very many values, in one parameter, on both databases."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from subscriptions.models import Suppression
from tests.factories import SuppressionFactory

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
