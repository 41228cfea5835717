"""People who left elsewhere are not confirmed: all columns are judged before anything is imported."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from subscriptions.lists import reading
from subscriptions.lists.importer import AmbiguousColumns, import_subscribers, try_subscribers
from subscriptions.lists.reading import ImportReport, Terms
from subscriptions.models import Subscription, Suppression
from tests.factories import NOW, SubscribableFactory

pytestmark = pytest.mark.django_db
AGREED = Terms(status="confirmed")


def written(rows: Sequence[Sequence[str]]) -> io.StringIO:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    file.seek(0)
    return file


def take(rows: Sequence[Sequence[str]], terms: Terms = AGREED, act: Any = import_subscribers) -> ImportReport:
    report: ImportReport = act(subscribable=SubscribableFactory(), lines=written(rows), now=NOW, terms=terms)
    return report


def confirmed() -> set[str]:
    rows = Subscription.objects.confirmed().values_list("destination__core", flat=True)
    suppressed = Suppression.objects.values_list("core", flat=True)
    return {*rows} - {*suppressed}


def column(name: str, *cells: str) -> list[list[str]]:
    return [["email", name], *([f"r{place}@example.org", cell] for place, cell in enumerate(cells))]


BY_ITSELF = [
    ("State", "subscribed", "unsubscribed"),
    ("Email status", "Active", "Bounced"),
    ("Email Permission Status", "Express", "Unsubscribed"),
    ("Subscribed", "yes", "no"),
    ("is_subscribed", "1", "0"),
    ("Accepts Email Marketing", "yes", "no"),
    ("active", "1", "0"),
    ("Opt-in", "TRUE", "FALSE"),
    ("Consent", "given", "withdrawn"),
    ("Zustand", "angemeldet", "abgemeldet"),
    ("Statut", "inscrit", "désinscrit"),
    ("Estado", "suscrito", "dado de baja"),
    ("Newsletter", "ja", "nein"),
    ("Einwilligung", "Ja", "widerrufen"),
    ("Consentement", "oui", "non"),
    ("Consentimiento", "sí", "no"),
    ("Consentimento", "sim", "não"),
    ("email_verified", "true", "false"),
    ("Global status", "subscribed", "inactive"),
]


@pytest.mark.parametrize(("name", "stays", "left"), BY_ITSELF)
def test_a_column_with_one_clear_meaning_is_read_without_a_question(name: str, stays: str, left: str) -> None:
    report = take(column(name, stays, left))
    assert report.not_used == ()
    assert confirmed() == {"r0@example.org"}


@pytest.mark.parametrize(("name", "stays", "left"), BY_ITSELF)
def test_it_counts_when_all_say_no(name: str, stays: str, left: str) -> None:
    take(column(name, left, left))
    assert confirmed() == set()


ASKED = [
    ("Bemerkung", ["", "hat sich abgemeldet"], 1),
    ("Notes", ["vip", "Unsubscribed (user)", "opted-out"], 2),
    ("tags", ["vip", "unsubscribed"], 1),
    ("name", ["Ada", "Bob (unsubscribed)"], 1),
    ("SMS status", ["subscribed", "unsubscribed"], 1),
    ("Marketing by post", ["yes", "no", "no"], 2),
    ("Newsletter (Print)", ["x", ""], 1),
    ("Opt-in", ["x", "", ""], 2),
    ("Opt-in date", ["2024-01-01", "2024-01-02", ""], 1),
    ("List state", ["C", "U"], 2),
    ("keine Newsletter", ["ja", ""], 1),
    ("Recently active", ["yes", "no"], 1),
    ("Abgemeldet am", ["", "2024-01-02"], 1),
]


@pytest.mark.parametrize("act", [import_subscribers, try_subscribers])
@pytest.mark.parametrize(("name", "cells", "rows"), ASKED)
def test_a_column_that_may_say_that_somebody_left_is_asked_about(
    name: str, cells: list[str], rows: int, act: Any
) -> None:
    with pytest.raises(AmbiguousColumns, match=rf"concerns {rows} line") as asked:
        take(column(name, *cells), act=act)
    assert asked.value.names == (name,)
    assert not Subscription.objects.exists()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("State", ["CA", "NY", ""]),
        ("City", ["Lisbon", "Leeds"]),
        ("Newsletter", ["yes", "ja", "1"]),
        ("Paid", ["yes", "no"]),
        ("bounces", ["0", "0", ""]),
        ("Unsubscribed", ["no", "", "0"]),
        ("Last active", ["2024-01-01", ""]),
        ("Newsletters sent", ["12", "0", "7"]),
        ("Date of birth", ["2001-01-01", ""]),
    ],
)
def test_an_ordinary_column_asks_nothing(name: str, cells: list[str]) -> None:
    report = take(column(name, *cells))
    assert (report.added, report.not_used) == (len(cells), ((name, 0),))


def test_a_person_may_say_that_a_column_means_nothing_and_the_report_says_whom_it_concerns() -> None:
    rows = column("Notes", "vip", "blocked the road")
    report = take(rows, Terms("confirmed", meanings={"Notes": "ignore"}), act=try_subscribers)
    assert (report.not_used, report.outcomes["gets"]) == ((("Notes", 1),), 2)


@pytest.mark.parametrize(
    ("meaning", "cells", "expected"),
    [
        ("subscribed", ["x", "", "no", "0", "yes"], {"r0@example.org", "r4@example.org"}),
        ("verified", ["2024-01-01", "", "pending"], {"r0@example.org"}),
        ("status", ["Active", "left", "hard bounce"], {"r0@example.org"}),
        ("unsubscribed", ["", "yes", "2024-01-01", "0"], {"r0@example.org", "r3@example.org"}),
    ],
)
def test_what_a_person_says_of_a_column_holds(meaning: str, cells: list[str], expected: set[str]) -> None:
    take(column("Spalte", *cells), Terms("confirmed", meanings={"Spalte": meaning}))
    assert confirmed() == expected


def test_of_several_statuses_of_a_line_the_strictest_counts() -> None:
    head = ["Email", "List status", "Global status"]
    rows = [
        ["stays@example.org", "Subscribed", "Subscribed"],
        ["left@example.org", "Unsubscribed", "Subscribed"],
        ["bounced@example.org", "Subscribed", "Bounced"],
        ["idle@example.org", "Subscribed", "Inactive"],
        ["never@example.org", "Unconfirmed", "Subscribed"],
    ]
    take([head, *rows], Terms())
    assert confirmed() == {"stays@example.org"}
    assert Suppression.objects.get().core == "bounced@example.org"
    take([["email", "status", "Email status"], ["ada@example.org", "active", "Unsubscribed"]])
    assert confirmed() == {"stays@example.org"}


def test_a_word_in_the_last_line_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINES_A_BATCH", 50)
    monkeypatch.setattr(reading, "LINES_A_CHUNK", 50)
    cells = [f"note {place}" for place in range(1200)]
    with pytest.raises(AmbiguousColumns, match=r"“Notes” concerns 1 line \(“please, unsubscribed!”\)"):
        take(column("Notes", *cells, "please, unsubscribed!"))
    assert not Subscription.objects.exists()


def test_a_status_of_other_words_refuses_its_lines() -> None:
    assert take(column("Subscription status", "yes", "no", "C")).refused_count == 3


def test_lines_that_get_nothing_anyway_ask_nothing() -> None:
    rows = [["email", "status", "Reason"], ["a@example.org", "unsubscribed", "unsubscribed by the link"]]
    assert take(rows).added == 1


def test_the_only_column_of_addresses_is_offered() -> None:
    rows = [["Kontakt", "Ort"], ["ada@example.org", "Leeds"], ["Bob <bob@example.org>", ""]]
    with pytest.raises(AmbiguousColumns, match="“Kontakt” has nothing but addresses") as asked:
        take(rows)
    assert asked.value.advice == {"Kontakt": "email"}
    assert take(rows, Terms("confirmed", meanings={"Kontakt": "email"})).added == 2
    with pytest.raises(ValidationError) as refused:
        take([["Kontakt", "Zweiter"], ["ada@example.org", "bob@example.org"]])
    assert not isinstance(refused.value, AmbiguousColumns)


WORDS = (
    "unsubscribed",
    "Opted-Out",
    "hard bounce",
    "NOT CONFIRMED",
    "Abgemeldet",
    "désinscrit",
    "baja",
    "spam",
)
cell = st.one_of(
    st.sampled_from(("", "yes", "no", "1", "0", "active", "Lisbon", "2024-01-02", "Ada", "x", "vip")),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(lambda word: f"  ({word.upper()})! "),
    st.text(max_size=12),
)
names = st.lists(
    st.sampled_from(
        ("name", "status", "State", "Notes", "Tags", "Vorname", "Newsletter", "active", "City", "Zustand")
    ),
    max_size=5,
    unique=True,
)


class AnyTableTest(TestCase):
    @given(st.data())
    def test_no_line_is_confirmed_in_which_a_cell_says_that_the_person_left(self, data: Any) -> None:
        head = data.draw(names)
        rows = data.draw(st.lists(st.lists(cell, min_size=len(head), max_size=len(head)), max_size=6))
        table = [
            ["email", *head],
            *([f"r{place}@example.org", *cells] for place, cells in enumerate(rows)),
        ]
        try:
            take(table)
        except ValidationError:
            assert not Subscription.objects.exists()
            return
        left = {
            f"r{place}@example.org"
            for place, cells in enumerate(rows)
            if any(word.casefold() in each.casefold() for each in cells for word in WORDS)
        }
        assert not confirmed() & left
