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
MARKS = ("x", "1", "yes", "2024-06-05", "5.6.2024", "çıktı", "配信停止", "C", "TRUE")
# No word is known: the admin alone knows what they mean.
headings = st.sampled_from(("Durum", "状態", "Austritt", "End date", "sub", "Q7", "mailable", "Fin"))
PROPOSED = [
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
    ("email_verified", "true", "false"),
    ("Opt-in date", "2024-01-01", ""),
    ("Global status", "subscribed", "inactive"),
    ("keine Newsletter", "", "ja"),
    ("Abgemeldet am", "", "2024-01-02"),
    ("bounced_at", "", "2024-01-02"),
    ("Bemerkung", "nett", "hat sich abgemeldet"),
    ("name", "Ada", "Bob (unsubscribed)"),
    ("tags", "vip", "unsubscribed"),
    ("Confirmed at", "2024-01-02", ""),
]
UNPROPOSED = [
    ("Durum", ["Aktif", "Abonelikten çıktı", "Geri döndü"]),
    ("配信状態", ["配信中", "配信停止"]),
    ("Austritt", ["", "05.06.2024"]),
    ("Date de résiliation", ["", "le 5 juin 2024"]),
    ("End date", ["", "2024-06-05", "June 5, 2024", "5/6/24", "06/2024", "1717545600", "2023", "2022"]),
    ("Verstorben", ["", "ja"]),
    ("Mailable", ["TRUE", "FALSE"]),
    ("sub", ["1", "0"]),
    ("dnc_reason", ["", "1", "2"]),
    ("is_excluded", ["false", "true"]),
    ("Paid", ["yes", "no"]),
    ("Newsletter", ["x", "", "", "", "", "", "", "", "", ""]),
]
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


@pytest.mark.parametrize(("name", "stays", "left"), PROPOSED)
def test_a_column_is_asked_about_and_its_proposal_is_right(name: str, stays: str, left: str) -> None:
    with pytest.raises(AmbiguousColumns) as asked:
        take(column(name, stays, left))
    assert not Subscription.objects.exists()
    take(column(name, stays, left), Terms("confirmed", meanings=asked.value.advice))
    assert confirmed() == {"r0@example.org"}


@pytest.mark.parametrize("act", [import_subscribers, try_subscribers])
@pytest.mark.parametrize(("name", "cells"), UNPROPOSED)
def test_a_column_that_may_tell_people_apart_is_asked_about_whatever_it_says(
    name: str, cells: list[str], act: Any
) -> None:
    with pytest.raises(AmbiguousColumns, match=name):
        take(column(name, *cells), act=act)
    assert not Subscription.objects.exists()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("City", ["Lisbon", "Leeds"]),
        ("Postal code", ["1010", ""]),
        ("Work phone number", ["", "+49 30 2024"]),
        ("Newsletter", ["yes", "ja", "1"]),
        ("bounces", ["0", "0", ""]),
        ("Unsubscribed", ["no", "", "0"]),
        ("IP address", ["203.0.113.1", ""]),
        ("Date of birth", ["2001-01-01", ""]),
        ("Eintritt", ["2001-01-01", "2024-01-01"]),
        ("Empty", ["", ""]),
        ("Shoe", [str(size) for size in range(30, 45)]),
    ],
)
def test_an_ordinary_column_asks_nothing(name: str, cells: list[str]) -> None:
    report = take(column(name, *cells))
    assert (report.added, report.not_used) == (len(cells), ((name, 0, 0),))


def test_nobody_is_asked_about_people_who_get_nothing() -> None:
    take(column("Grund", "Umzug", "", "Zeit"), Terms("unsubscribed"))
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}


@pytest.mark.parametrize(
    ("name", "cells", "kept"),
    [
        ("Stato", ["Iscritto"] * 269 + ["Disiscritto"] * 30 + ["boh"], 269),
        ("Subscriber State", ["Confirmed"] * 200 + ["Cancelled"] * 50 + ["Cold"] * 50, 200),
        ("Opt-in date", ["2024-01-02"] * 100 + [""] * 200, 100),
        ("Consent to Send SMS", ["No"] * 225 + ["Yes"] * 75, 300),
        ("Accepts Email Marketing", ["yes"] * 200 + ["no"] * 100, 200),
        ("Notes", [f"met in {n}" for n in range(299)] + ["please unsubscribe me"], 299),
    ],
)
def test_by_its_proposal_hardly_anybody_leaves_who_did_not_say_so(
    name: str, cells: list[str], kept: int
) -> None:
    with pytest.raises(AmbiguousColumns) as asked:
        take(column(name, *cells))
    take(column(name, *cells), Terms("confirmed", meanings=asked.value.advice))
    assert len(confirmed()) == kept
    said_so = sum(each in ("Disiscritto", "Cancelled", "no", "please unsubscribe me") for each in cells)
    assert Subscription.objects.filter(status="unsubscribed").count() == said_so


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("Accepts Email Marketing", ["yes"] * 20 + ["no"] * 80),
        ("Unsubscribed", ["yes"] * 80 + ["no"] * 20),
        ("Notes", ["unsubscribed"] * 80 + ["vip"] * 20),
    ],
)
def test_what_would_end_most_is_not_proposed(name: str, cells: list[str]) -> None:
    with pytest.raises(AmbiguousColumns) as asked:
        take(column(name, *cells))
    assert asked.value.advice == {}


def test_a_status_column_of_unknown_words_asks_what_they_mean() -> None:
    rows = column("Status", "Tilmeldt", "Tilmeldt", "Frameldt", "bounced")
    with pytest.raises(AmbiguousColumns, match="“Tilmeldt”, “Frameldt”") as asked:
        take(rows)
    assert asked.value.advice == {}
    take(rows, Terms("confirmed", statuses={"Tilmeldt": "confirmed", "frameldt": "unsubscribed"}))
    assert confirmed() == {"r0@example.org", "r1@example.org"}
    assert Subscription.objects.get(destination__core="r2@example.org").status == "unsubscribed"


def test_a_person_may_say_that_a_column_means_nothing_and_the_report_says_whom_it_concerns() -> None:
    rows = column("Notes", "vip", "blocked the road")
    report = take(rows, Terms("confirmed", meanings={"Notes": "ignore"}), act=try_subscribers)
    assert (report.not_used, report.outcomes["gets"]) == ((("Notes", 1, 0),), 2)


@pytest.mark.parametrize(
    ("meaning", "cells", "expected"),
    [
        ("subscribed", ["x", "", "no", "0", "yes"], {"r0@example.org", "r4@example.org"}),
        ("verified", ["2024-01-01", "", "pending"], {"r0@example.org"}),
        ("status", ["Active", "left", "hard bounce"], {"r0@example.org"}),
        ("unsubscribed", ["", "yes", "2024-01-01", "0"], {"r0@example.org", "r3@example.org"}),
        ("notes", ["", "vip", "has opted out", "hard bounce"], {"r0@example.org", "r1@example.org"}),
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
    rows = [["email", "status", "Email status"], ["ada@example.org", "active", "Unsubscribed"]]
    take(rows, Terms(meanings={"Email status": "status"}))
    assert confirmed() == {"stays@example.org"}


def test_a_word_in_the_last_line_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINES_A_BATCH", 50)
    monkeypatch.setattr(reading, "LINES_A_CHUNK", 50)
    cells = [f"note {place}" for place in range(1200)]
    with pytest.raises(AmbiguousColumns, match="1 line like “please, unsubscribed!”"):
        take(column("Notes", *cells, "please, unsubscribed!"))
    assert not Subscription.objects.exists()


def test_a_status_of_another_word_refuses_its_line() -> None:
    assert take(column("Subscription status", "active", "active", "C")).refused_count == 1


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
        table = [["email", *head], *([f"r{place}@example.org", *cells] for place, cells in enumerate(rows))]
        left = {
            f"r{place}@example.org"
            for place, cells in enumerate(rows)
            if any(word.casefold() in each.casefold() for each in cells for word in WORDS)
        }
        meanings: dict[str, str] = {}
        for _ in range(len(head) + 1):
            try:
                take(table, Terms("confirmed", meanings=meanings))
            except AmbiguousColumns as asked:
                # The printed example, followed to the letter.
                assert not Subscription.objects.exists()
                if not asked.advice.keys() - meanings.keys():
                    return
                meanings |= asked.advice
            except ValidationError:
                assert not Subscription.objects.exists()
                return
        assert not confirmed() & left

    @given(st.data())
    def test_whoever_a_marked_column_says_has_left_is_not_confirmed_if_the_admin_says_so(
        self, data: Any
    ) -> None:
        name, mark = data.draw(headings), data.draw(st.sampled_from(MARKS))
        marked = data.draw(st.lists(st.booleans(), min_size=1, max_size=30))
        others = data.draw(st.lists(st.sampled_from(("Ada", "Bo", "Cy")), min_size=30, max_size=30))
        table = [
            ["email", "First name", name],
            *(
                [f"r{place}@example.org", other, mark if has_left else ""]
                for place, (has_left, other) in enumerate(zip(marked, others, strict=False))
            ),
        ]
        stays = {f"r{place}@example.org" for place, has_left in enumerate(marked) if not has_left}
        if any(marked) and not (all(marked) and mark in ("2024-06-05", "5.6.2024")):
            with pytest.raises(AmbiguousColumns):
                take(table)
        assert not Subscription.objects.exists()
        take(table, Terms("confirmed", meanings={name: "unsubscribed"}))
        assert confirmed() == stays

    @given(st.lists(st.lists(st.text(max_size=8), min_size=3, max_size=3), max_size=8))
    def test_of_people_who_agreed_nobody_is_lost_without_a_question(self, rows: list[list[str]]) -> None:
        table = [
            ["email", "City", "Company", "added"],
            *([f"r{place}@example.org", *cells] for place, cells in enumerate(rows)),
        ]
        try:
            report = take(table)
        except AmbiguousColumns:
            return
        lost = {row.cells[0] for row in report.refused}
        assert confirmed() | lost == {f"r{place}@example.org" for place in range(len(rows))}
