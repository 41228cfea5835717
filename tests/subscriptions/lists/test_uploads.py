"""Uploaded lists: previewed, imported, stopped, deleted; also after crashes."""

import codecs
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from common.admin.uploads import BEGINS, words_about_worker
from common.clock import utcnow
from common.passes import TimeBudget
from common.uploads import LEASE, PIECE_SIZE, WAITS_FOR, NotPossible, claim
from subscriptions.admin.list_columns import ColumnsForm
from subscriptions.admin.list_import_panels import (
    outcome_of,
    sample,
    sentence_about_state,
    words_about_unread,
)
from subscriptions.lists import importer, reading, worker
from subscriptions.lists.importer import USUAL_TERMS
from subscriptions.lists.reading import Terms
from subscriptions.lists.uploads import LONGEST_LINE, StoredLines, as_utf8, begin_import, explain, upload
from subscriptions.lists.worker import work_off_imports
from subscriptions.models import ListImport, ListPart, Notice, RefusedLine, Subscription
from tests.factories import BridgeFactory, SubscribableFactory, SubscriptionFactory, SuppressionFactory

pytestmark = pytest.mark.django_db
LONG = timedelta(minutes=5)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINES_A_BATCH", 3)


def uploaded(text: str | bytes, *, subscribable: Any = None, terms: Terms = USUAL_TERMS) -> ListImport:
    return upload(
        subscribable=subscribable or SubscribableFactory(),
        name="list.csv",
        pieces=[text.encode() if isinstance(text, str) else text],
        terms=terms,
        by="ada",
        now=utcnow(),
    )


def fresh(row: ListImport) -> ListImport:
    return ListImport.objects.get(pk=row.pk)


def checked(text: str | bytes, **more: Any) -> ListImport:
    row = uploaded(text, **more)
    work_off_imports(budget=LONG)
    return fresh(row)


def people(count: int) -> str:
    return "email,status\n" + "".join(f"r{number}@example.org,confirmed\n" for number in range(count))


def test_looking_changes_nothing_and_says_what_would_be_done() -> None:
    there = SubscriptionFactory(display_name="Ada")
    SuppressionFactory(core="bad@example.org")
    text = (
        f"email,name,city\n{there.destination.core},Ada L,Rome\n{there.destination.core},,\n"
        "new@example.org,,\nbad@example.org,,\nnonsense,N,Bern\n"
    )
    row = checked(text, subscribable=there.subscribable)
    assert (row.state, row.lines) == ("checked", 5)
    assert (row.added, row.updated, row.unchanged, row.repeated, row.refused) == (1, 1, 0, 1, 2)
    assert row.names == ["email", "name", "city"]
    assert row.sample[0] == [there.destination.core, "Ada L", "gets", "update"]
    assert list(row.refused_lines.order_by("line").values_list("line", "cells")) == [
        (5, ["bad@example.org", "", ""]),
        (6, ["nonsense", "N", "Bern"]),
    ]
    there.refresh_from_db()
    assert there.display_name == "Ada"
    assert Subscription.objects.count() == 1


def test_at_the_admins_word_it_is_taken_over_and_no_one_is_mailed() -> None:
    row = checked(people(10), terms=Terms(words="By hand."))
    begin_import(row, now=utcnow())
    work_off_imports(budget=LONG)
    row = fresh(row)
    assert (row.state, row.added, row.position) == ("done", 10, row.size)
    assert row.subscribable.subscriptions.confirmed().count() == 10
    assert set(Subscription.objects.values_list("consents__words", flat=True)) == {"By hand."}
    assert not Notice.objects.exists()
    # A finished list is not kept.
    assert not ListPart.objects.exists()


def test_nothing_is_taken_over_without_that_word() -> None:
    row = uploaded(people(3))
    with pytest.raises(NotPossible, match="being checked"):
        begin_import(row, now=utcnow())
    work_off_imports(budget=LONG)
    work_off_imports(budget=LONG)
    assert not Subscription.objects.exists()


class Killed(BaseException):
    """The end of a process."""


def test_a_worker_that_dies_leaves_the_rest_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    row = checked(people(10) + "nonsense,\n")
    begin_import(row, now=utcnow())
    whole, calls = importer.import_batch, iter(range(100))

    def dying(*args: Any, **more: Any) -> Any:
        done = whole(*args, **more)
        if next(calls) == 2:
            raise Killed
        return done

    monkeypatch.setattr(worker, "import_batch", dying)
    with pytest.raises(Killed):
        work_off_imports(budget=LONG)
    # Its third batch was rolled back.
    assert (fresh(row).added, Subscription.objects.count()) == (6, 6)
    assert claim(ListImport, now=utcnow()) is None
    ListImport.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    work_off_imports(budget=LONG)
    row = fresh(row)
    assert (row.state, row.added, row.unchanged, row.refused) == ("done", 10, 0, 1)
    assert row.refused_lines.get().line == 12
    assert Subscription.objects.count() == 10


def test_a_worker_that_died_while_looking_is_followed_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = uploaded(people(7) + "nonsense,\n")
    whole, calls = importer.try_batch, iter(range(100))

    def dying(*args: Any) -> Any:
        if next(calls) == 1:
            raise Killed
        return whole(*args)

    monkeypatch.setattr(worker, "try_batch", dying)
    with pytest.raises(Killed):
        work_off_imports(budget=LONG)
    ListImport.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    work_off_imports(budget=LONG)
    row = fresh(row)
    assert (row.state, row.lines, row.added, row.refused) == ("checked", 8, 7, 1)


def test_a_pass_ends_with_its_time_and_the_next_goes_on() -> None:
    row = checked(people(8))
    ListImport.objects.update(created_at=utcnow() - timedelta(days=3))
    begin_import(row, now=utcnow())
    for expected in (3, 6):
        work_off_imports(budget=timedelta(microseconds=1))
        assert fresh(row).added == expected
        assert words_about_worker(fresh(row), utcnow()) == BEGINS, "it waits only since then"
    work_off_imports(budget=LONG)
    assert fresh(row).state == "done"


def test_a_lost_lease_takes_over_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = checked(people(8))
    begin_import(row, now=utcnow())
    late = claim(ListImport, now=utcnow() - LEASE * 2)
    assert late is not None
    work_off_imports(budget=LONG)
    assert fresh(row).state == "done"
    worker._work(late, left=TimeBudget(None))
    assert Subscription.objects.count() == 8
    assert fresh(row).added == 8


def test_what_goes_wrong_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    row = uploaded(people(2))
    with monkeypatch.context() as patch:
        patch.setattr(worker, "try_batch", lambda *args: 1 / 0)
        work_off_imports(budget=LONG)
    assert "ZeroDivisionError" in fresh(row).trouble
    ListImport.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    work_off_imports(budget=LONG)
    assert (fresh(row).state, fresh(row).trouble) == ("checked", "")


def test_a_list_is_given_up_after_three_errors_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = uploaded(people(2))
    monkeypatch.setattr(worker, "try_batch", lambda *args: 1 / 0)
    for _ in range(4):
        work_off_imports(budget=LONG)
        ListImport.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    assert (fresh(row).state, fresh(row).failures) == ("unusable", 3)
    assert fresh(row).trouble == "Given up after 3 errors. ZeroDivisionError: division by zero"
    assert not ListPart.objects.exists()


def test_stopping_keeps_what_was_done_and_forgets_the_file() -> None:
    row = checked(people(8))
    begin_import(row, now=utcnow())
    work_off_imports(budget=timedelta(microseconds=1))
    row.stop(now=utcnow())
    work_off_imports(budget=LONG)
    assert (fresh(row).state, Subscription.objects.count()) == ("stopped", 3)
    assert not ListPart.objects.exists()
    with pytest.raises(NotPossible):
        row.stop(now=utcnow())
    with pytest.raises(NotPossible):
        begin_import(row, now=utcnow())


@pytest.mark.parametrize("text", ["name\nAda\n", "no list at all", '"'])
def test_what_is_no_list_says_so(text: str) -> None:
    row = checked(text)
    assert row.state == "unusable"
    assert "email" in row.trouble


def test_a_zip_is_not_unpacked_and_not_a_list() -> None:
    """A spreadsheet (.xlsx) is one, too."""
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("list.csv", "email\n" + "a@example.org\n" * 1_000_000)
    row = checked(room.getvalue())
    assert row.state == "unusable"
    assert "zip file" in row.trouble


def test_an_empty_file_and_a_bridge_are_refused_at_once() -> None:
    with pytest.raises(ValidationError, match="empty"):
        uploaded("")
    with pytest.raises(ValidationError, match="newsletters by email"):
        uploaded(people(1), subscribable=BridgeFactory())
    assert not ListImport.objects.exists()


def test_what_nobody_wants_and_what_is_old_is_forgotten() -> None:
    now = utcnow()
    checked(people(1))
    done = checked("nonsense\n")
    ListImport.forgettable(now + WAITS_FOR - timedelta(hours=1)).delete()
    assert ListImport.objects.count() == 2
    ListImport.forgettable(now + WAITS_FOR + timedelta(hours=1)).delete()
    assert ListImport.objects.get() == done
    ListImport.forgettable(now + ListImport.KEPT_FOR + timedelta(hours=1)).delete()
    assert not ListImport.objects.exists()
    assert not RefusedLine.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        codecs.BOM_UTF16_LE + "email;name\r\nžofie@example.org;Žofie 🦄\r\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "email;name\nžofie@example.org;Žofie 🦄\n".encode("utf-16-be"),
        "\ufeffemail,name\ržofie@example.org,Žofie 🦄\r".encode(),
    ],
)
def test_what_spreadsheets_save_is_read(text: bytes) -> None:
    row = checked(text)
    assert (row.state, row.added, row.refused) == ("checked", 1, 0)
    assert row.sample[0][:2] == ["žofie@example.org", "Žofie 🦄"]


@given(st.text(max_size=60), st.integers(1, 7))
def test_utf16_comes_through_whatever_the_pieces(text: str, size: int) -> None:
    whole = codecs.BOM_UTF16_LE + text.encode("utf-16-le", "surrogatepass")
    first = max(size, 2)
    pieces = [whole[:first], *(whole[at : at + size] for at in range(first, len(whole), size))]
    read = b"".join(as_utf8(pieces)).decode().removeprefix("\ufeff")
    assert read.replace("\r", "\n") == text.encode("utf-16-le", "replace").decode("utf-16-le").replace(
        "\r", "\n"
    )


class StoredLinesTest(TestCase):
    """Lines of a stored file, from any starting point."""

    @given(st.binary(max_size=300), st.integers(1, 40), st.integers(0, 10))
    def test_the_lines_are_those_of_the_file_from_every_place(
        self, text: bytes, size: int, skip: int
    ) -> None:
        row = ListImport.objects.create(subscribable=SubscribableFactory(), file_name="x")
        row.keep_file(text[start : start + size] for start in range(0, len(text), size))
        expected = [decoded(line) for line in lines_of(text)]
        reader = StoredLines(row)
        first = [line for _, line in zip(range(skip), reader, strict=False)]
        assert first + list(StoredLines(row, reader.position)) == expected
        assert reader.next_line == 1 + len(first)


def decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("windows-1252", errors="replace")


def lines_of(text: bytes) -> Iterator[bytes]:
    while text:
        line, end, text = text.partition(b"\n")
        yield line + end


def test_a_line_that_never_ends_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ListImport.objects.create(subscribable=SubscribableFactory(), file_name="x")
    text = b"x" * (LONGEST_LINE * 2 + 5) + b"\nshort\n"
    assert row.keep_file([text[:100_000], text[100_000:]]) == len(text)
    assert [len(line) for line in StoredLines(row)] == [LONGEST_LINE, LONGEST_LINE, 6, 6]
    assert PIECE_SIZE > LONGEST_LINE


def test_an_upload_is_judged_before_it_is_offered_and_says_whom_a_column_concerns() -> None:
    row = checked("email,Notes\na@example.org,\nb@example.org,please unsubscribe\n")
    assert (row.state, row.names, row.added) == ("asking", ["email", "Notes"], 0)
    assert "may mark people" in sentence_about_state(row, utcnow())
    question = ColumnsForm([row.pk]).fields["column-1"]
    assert question.help_text == (
        "empty (1), “please unsubscribe” (1). Proposal: the status; 0 lines would get the newsletter."
    )
    explain(row, meanings={"Notes": "unsubscribed"}, dates="", now=utcnow())
    work_off_imports(budget=LONG)
    row = fresh(row)
    assert row.state == "checked"
    assert outcome_of(row) == "0 will get the newsletter · 1 not confirmed · 1 unsubscribed."


def test_what_the_release_before_looked_at_is_judged_before_it_is_imported() -> None:
    row = checked("email,City\na@example.org,\nb@example.org,vip\n", terms=Terms("confirmed"))
    part = ListPart.objects.get()
    text = zlib.decompress(part.data).replace(b"vip", b"opted out")
    ListPart.objects.update(data=zlib.compress(text))
    for findings in (None, {"columns": {"1": {"sorts": {}, "filled": 1}}}):
        ListImport.objects.update(state="checked", findings=findings, size=len(text))
        begin_import(row, now=utcnow())
        work_off_imports(budget=LONG)
        assert (fresh(row).state, Subscription.objects.count()) == ("asking", 0)


def test_the_only_column_of_addresses_is_offered_for_an_answer() -> None:
    row = checked("Kontakt,Ort\na@example.org,Leeds\n")
    assert row.state == "asking"
    assert "“Kontakt” has only addresses" in sentence_about_state(row, utcnow())
    assert ColumnsForm([row.pk]).fields["column-0"].initial == "email"
    explain(row, meanings={"Kontakt": "email"}, dates="", now=utcnow())
    work_off_imports(budget=LONG)
    assert (fresh(row).state, fresh(row).added) == ("checked", 1)


def test_examples_are_of_every_outcome() -> None:
    rows = [f"r{n}@example.org,subscribed\n" for n in range(9)]
    rows += ["x@example.org,bounced\n", "y@example.org,left\n", "z@example.org,pending\n"]
    rows += ["r1@example.org,subscribed\n", "nonsense,subscribed\n"]
    row = checked(f"email,status\n{''.join(rows)}")
    counts = Counter(kind for _, _, kind, _ in row.sample)
    kinds = ("suppressed", "unsubscribed", "unconfirmed", "repeated", "unreadable")
    assert counts == {"gets": 3, **dict.fromkeys(kinds, 1)}
    shown = str(sample(row))
    for words in (
        "Will get the newsletter (new)",
        "Unsubscribed: gets nothing",
        "Must not be emailed: gets nothing",
        "Duplicate: counted once",
        "Not imported: “nonsense”",
        "and 6 more rows",
    ):
        assert words in shown, words
    assert outcome_of(row) == (
        "9 will get the newsletter · 1 not confirmed · 1 unsubscribed · 1 must not be emailed · 1 duplicate"
        " · 1 unreadable."
    )


@pytest.mark.parametrize(
    "text",
    [
        "email\tname\r\nzoe@example.org\tZoë\r\n".encode("utf-16-le"),
        "email\tname\r\nzoe@example.org\tZoë\r\n".encode("utf-16-be"),
        "sep=;\r\nemail;name\r\nzoe@example.org;Zoë\r\n".encode(),
        "\ufeffsep=;\nzoe@example.org;\n".encode(),
    ],
)
def test_files_of_spreadsheets_are_read_to_the_end(text: bytes) -> None:
    row = checked(text)
    assert (row.state, row.added, row.refused) == ("checked", 1, 0)
    assert row.sample[0][:2] in (["zoe@example.org", "Zoë"], ["zoe@example.org", ""])


@pytest.mark.parametrize(
    ("encoding", "status", "name", "left"),
    [
        ("windows-1251", "Статус", "Иван", "отписался"),
        ("windows-1252", "Status", "Zoë", "abgemeldet"),
        ("windows-1250", "Status", "Łukasz", "wypisany"),
        ("cp932", "状態", "佐藤", "配信停止"),
    ],
)
def test_a_list_that_is_not_utf_8_is_asked_about_before_anything_else(
    encoding: str, status: str, name: str, left: str
) -> None:
    text = f"email,name,{status}\nzoe@example.org,{name},active\nbob@example.org,Bob,{left}\n"
    row = checked(text.encode(encoding), terms=Terms("confirmed"))
    assert row.state == "asking"
    assert "aren’t in UTF-8" in sentence_about_state(row, utcnow())
    field: Any = ColumnsForm([row.pk]).fields["encoding"]
    right = next(value for value, label in field.choices if name in label)
    explain(row, meanings={}, dates="", encoding=right, now=utcnow())
    work_off_imports(budget=LONG)
    row = fresh(row)
    if row.state == "asking":
        meanings, statuses = {status: "status"}, {left: "unsubscribed"}
        explain(row, meanings=meanings, statuses=statuses, dates="", now=utcnow())
        work_off_imports(budget=LONG)
    row = fresh(row)
    assert row.state == "checked"
    assert ["zoe@example.org", name, "gets", "add"] in row.sample
    assert (row.findings or {})["outcomes"] == {"gets": 1, "unsubscribed": 1}


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.org,bob@example.org, cy@example.org",
        "Ann Lee <ann@example.org>; Bob <bob@example.org>; cy@example.org;\n",
        '"Lee, Ann" <ann@example.org>, Bob <bob@example.org>, cy@example.org\n',
        "Lee, Ann <ann@example.org>; bob@example.org; cy@example.org",
        "\ufeffann@example.org\tbob@example.org\ncy@example.org\n",
        "ann@example.org, bob@example.org\r\ncy@example.org, ann@example.org\r\n",
    ],
)
def test_a_pasted_line_of_addresses_is_all_these_people(text: str) -> None:
    row = checked(text)
    assert (row.state, row.added, row.refused) == ("checked", 3, 0)
    assert words_about_unread(row) == ""


def test_a_pasted_line_longer_than_a_piece_is_taken_whole_after_any_interruption() -> None:
    people = [f"r{number}@example.org" for number in range(9000)]
    pieces = [", ".join(people).encode()]
    assert b"".join(as_utf8(iter(pieces))).decode().replace('"', "").split() == people
    text = pieces[0]
    cut = [text[place : place + 70_001] for place in range(0, len(text), 70_001)]
    assert b"".join(as_utf8(iter(cut))).decode().replace('"', "").split() == people


def test_addresses_in_a_column_that_is_not_used_are_told_as_loudly_as_refused_lines() -> None:
    row = checked(
        "email,City,Partner email\n" + "".join(f"a{n}@x.example,,b{n}@x.example\n" for n in range(9))
    )
    assert "NOT IMPORTED: 9 addresses in “Partner email”" in words_about_unread(row)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("email\nann@example.org;bob@example.org\n", "email address"),
        ("email\nann@example.org,bob@example.org\n", "2 columns"),
        ("ann@example.org\nbob@example.org,cy@example.org\n", "2 columns"),
    ],
)
def test_several_addresses_in_one_row_are_refused_by_name(text: str, reason: str) -> None:
    row = checked(text)
    assert [reason in line.reason for line in row.refused_lines.all()] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "email\nann@example.org ::: old@example.org\n",
        "email\nmailto:ann@example.org;\n",
        "email\n\u200bann@example.org\u00a0\n",
        "Email|Name\nann@example.org|Ann\n",
        "First Name,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Value\nAnn,,ann@example.org,\n",
    ],
)
def test_addresses_are_taken_as_programs_and_people_write_them(text: str) -> None:
    assert checked(text).sample[0][0] == "ann@example.org"


@pytest.mark.parametrize("text", [b"PK\x03\x04\x14\0\x06\0", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"])
def test_a_workbook_is_named(text: bytes) -> None:
    row = checked(text)
    assert (row.state, "Excel workbook" in row.trouble) == ("unusable", True)


def test_an_import_that_would_end_most_subscriptions_needs_a_second_word() -> None:
    newsletter = SubscribableFactory()
    people = SubscriptionFactory.create_batch(8, subscribable=newsletter)
    text = "email\n" + "".join(f"{each.destination.core}\n" for each in people)
    row = checked(text, subscribable=newsletter, terms=Terms("unsubscribed"))
    with pytest.raises(NotPossible, match="8 of the 8 people who get this newsletter"):
        begin_import(row, now=utcnow())
    begin_import(row, now=utcnow(), anyway=True)
    work_off_imports(budget=LONG)
    assert not newsletter.subscriptions.confirmed().exists()
