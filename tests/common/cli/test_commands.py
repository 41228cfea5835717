import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, time
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError
from django.db import IntegrityError, OperationalError
from hypothesis import given
from hypothesis import strategies as st

from common.cli.commands import (
    FeedletterCommand,
    Printed,
    cell,
    cut_to_width,
    json_lines,
    pairs,
    positive,
    record,
    table_lines,
    whole,
)
from common.cli.progress import Progress
from common.cli.registry import LazyCommand
from common.ports.channels import InvalidDestination
from common.refused import Refused
from common.text import text_width
from tests.console import command_named, json_of

REGISTERED = sorted(name for name, command in get_commands().items() if isinstance(command, LazyCommand))
ROWS = [{"id": 1, "title": "Short"}, {"id": 12, "title": "A longer title"}]
MOMENT = datetime(2026, 3, 2, 12, tzinfo=UTC)


def a_command(result: Any, **facts: Any) -> FeedletterCommand:
    """Return a command whose `run` returns that, or raises it."""

    def run(self: Any, **options: Any) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    made: FeedletterCommand = type("Command", (FeedletterCommand,), {"run": run, **facts})(
        stdout=io.StringIO(), stderr=io.StringIO()
    )
    made.requires_system_checks = ()
    return made


def started(command: FeedletterCommand, *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr, as in a shell."""
    code = 0
    try:
        command.run_from_argv(["manage.py", "thing", *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    return code, command.stdout._out.getvalue(), command.stderr._out.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CommandError("There is no feed 9."), "There is no feed 9."),
        (ValidationError({"from_email": ["It is empty."]}), "--from: It is empty."),
        (ValidationError({"max_delay_minutes": ["Too short."]}), "--max-delay-minutes: Too short."),
        (ValidationError({"__all__": ["These do not fit."]}), "These do not fit."),
        (ValidationError("Wrong."), "Wrong."),
        (InvalidDestination("“x” is not an address."), "“x” is not an address."),
        (Refused("It is refused.", "field"), "It is refused."),
    ],
)
@pytest.mark.django_db
def test_a_mistake_is_one_sentence_on_stderr_and_exit_code_1(error: Exception, said: str) -> None:
    command = a_command(error, option_names={"from_email": "--from"})
    assert started(command) == (1, "", said + "\n")


@pytest.mark.django_db
def test_a_database_without_tables_is_a_sentence_too() -> None:
    code, _, said = started(a_command(OperationalError("no such table: feeds_feed\nLINE 1")))
    assert code == 1
    assert "no such table: feeds_feed)" in said
    assert "manage.py migrate" in said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("database disk image is malformed", "Restore a backup"),
        ("file is not a database", "Restore a backup"),
        ("database is locked", "another program holds it"),
        ("attempt to write a readonly database", "must be writable"),
        ("unable to open database file", "must be writable"),
    ],
)
@pytest.mark.django_db
def test_what_is_wrong_with_a_database_file_is_said_with_what_to_do(error: str, said: str) -> None:
    code, _, words = started(a_command(OperationalError(error)))
    assert code == 1
    assert f"({error})" in words
    assert said in words


@pytest.mark.django_db
def test_a_statement_of_ours_that_is_wrong_is_not_called_the_databases_fault() -> None:
    with pytest.raises(IntegrityError):
        started(a_command(IntegrityError("UNIQUE constraint failed")))


@pytest.mark.django_db
def test_who_asks_for_a_traceback_gets_one() -> None:
    with pytest.raises(CommandError):
        started(a_command(CommandError("There is no feed 9.")), "--traceback")


def test_words_that_need_a_person_have_a_colour_on_a_terminal_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    command = a_command(None)
    assert command.paint() is None
    command = type(command)(stdout=Terminal(), stderr=io.StringIO(), force_color=True)
    coloured = command.paint()
    assert {"\x1b[" in coloured("state", word) for word in ("failed", "held")} == {True}
    assert coloured("state", "failed") != coloured("state", "held")
    assert coloured("state", "sent") == "sent"


@pytest.mark.django_db
def test_a_programming_error_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        started(a_command(ZeroDivisionError()))


@pytest.mark.django_db
def test_a_wrong_argument_is_a_sentence_and_exit_code_1() -> None:
    code, out, said = started(a_command(None), "--nonsense")
    assert (code, out, said) == (1, "", "unrecognized arguments: --nonsense\n")


@pytest.mark.parametrize(
    ("result", "document"),
    [
        ({"id": 1, "at": MOMENT}, {"id": 1, "at": "2026-03-02T12:00:00+00:00"}),
        (Printed("Done.", {"id": 1}), {"id": 1}),
        ([{"id": 1}, {"id": 2}, {"id": 3}], [{"id": 1}, {"id": 2}, {"id": 3}]),
        ([{"id": 1}], [{"id": 1}]),
        ({"at": time(7, 30)}, {"at": "07:30"}),
        ([], []),
    ],
)
@pytest.mark.django_db
def test_json_is_one_document(result: Any, document: Any) -> None:
    code, out, _ = started(a_command(result), "--json")
    assert code == 0
    assert json.loads(out) == document


@pytest.mark.django_db
def test_people_get_a_table_a_record_or_a_sentence() -> None:
    assert started(a_command([{"id": 1, "title": "One"}]))[1] == "id  title\n1   One\n"
    assert started(a_command({"id": 1, "title": "One"}))[1] == "id     1\ntitle  One\n"
    assert started(a_command(Printed("Done.", {"id": 1})))[1] == "Done.\n"
    assert started(a_command([], empty="There are none."))[1] == "There are none.\n"


def test_json_of_a_hostile_title_is_plain_ascii() -> None:
    assert "".join(json_lines({"title": "\x1b[2J\x9b\u202e"})).isascii()


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "", "²", "9" * 30])
def test_numbers_are_whole(text: str) -> None:
    with pytest.raises(Exception, match="give a whole number"):
        whole(text)


def test_a_limit_is_positive() -> None:
    with pytest.raises(Exception, match="1 or more"):
        positive("0")


def test_pairs_keep_what_follows_the_first_equals_sign() -> None:
    assert pairs(["a=b=c", "d="], "--param") == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("text", ["novalue", "=x"])
def test_a_pair_that_is_none_is_named(text: str) -> None:
    with pytest.raises(CommandError, match=f"--param: “{text}”"):
        pairs([text], "--param")


def test_progress_is_silent_where_nobody_watches() -> None:
    stream = io.StringIO()
    with Progress("importing", stream, total=10) as progress:
        progress.advance(4)
    assert stream.getvalue() == ""
    assert progress.line().startswith("importing ██████████░░░░░░░░░░░░░░ 4/10")


def test_progress_with_an_expected_time_writes_lines_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.cli.progress.LOG_SECONDS", 0.01)
    stream = io.StringIO()
    with Progress("Week 1", stream, total=10, expected="about ten seconds") as progress:
        progress.advance(4)
        while "4 of 10" not in stream.getvalue():
            progress._over.wait(0.01)
    assert stream.getvalue().startswith("Week 1 (about ten seconds) …\n")


def test_progress_is_drawn_and_wiped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("common.cli.progress.PATIENCE", 0.0)
    stream = Terminal()
    with Progress("polling", stream) as progress:
        for _ in range(200):
            if stream.getvalue():
                break
            progress._over.wait(0.01)
    assert "polling …" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_columns_are_aligned() -> None:
    assert list(table_lines(ROWS)) == ["id  title", "1   Short", "12  A longer title"]


def test_wide_characters_take_two_columns() -> None:
    lines = list(table_lines([{"title": "日本", "x": 1}, {"title": "abcd", "x": 2}]))
    assert lines == ["title  x", "日本   1", "abcd   2"]


def test_nothing_is_cut_where_there_is_no_terminal() -> None:
    assert list(table_lines([{"title": "w" * 500}]))[1] == "w" * 500


def test_the_widest_column_is_cut_on_a_terminal() -> None:
    assert list(table_lines([{"id": 7, "title": "w" * 500}], room=30))[1] == "7   " + "w" * 25 + "…"


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5), st.integers(20, 100))
def test_a_line_fits_the_terminal(texts: list[tuple[str, str]], room: int) -> None:
    rows = [{"a": one, "b": two} for one, two in texts]
    assert all(text_width(line) <= room for line in table_lines(rows, room=room))


@given(st.text(), st.integers(1, 20))
def test_a_cut_text_is_no_wider_than_allowed(text: str, limit: int) -> None:
    assert text_width(cut_to_width(text, limit)) <= limit


def test_a_title_cannot_steer_the_terminal() -> None:
    assert cell("a\x1b[31mb\nc\u202ed\x9be") == "a�[31mb�c�d�e"


def test_times_have_an_offset() -> None:
    assert cell(datetime(2026, 3, 2, 12, tzinfo=UTC)) == "2026-03-02T12:00:00+00:00"


def test_rows_stream() -> None:
    taken = 0

    def many() -> object:
        nonlocal taken
        while True:
            taken += 1
            yield {"n": taken}

    lines = table_lines(many())  # type: ignore[arg-type]
    assert [next(lines) for _ in range(3)] == ["n", "1", "2"]
    assert taken <= 201


def test_a_record_has_its_names_at_the_left() -> None:
    assert list(record({"id": 3, "sent_at": None, "done": True})) == [
        "id       3",
        "sent_at  –",
        "done     yes",
    ]


@pytest.mark.parametrize("name", REGISTERED)
def test_every_registered_command_is_a_class_of_its_module(name: str) -> None:
    assert isinstance(command_named(name), FeedletterCommand)


@pytest.mark.parametrize("name", REGISTERED)
def test_a_command_says_what_it_is_for(name: str) -> None:
    assert command_named(name).help.endswith((".", "!", "”"))


@pytest.mark.slow
def test_django_lists_them_below_their_app() -> None:
    text = subprocess.run(
        [sys.executable, "manage.py", "help"], capture_output=True, text=True, check=True
    ).stdout
    feeds = text.partition("[feeds]\n")[2].partition("\n\n")[0]
    assert "    list_feeds\n" in feeds + "\n"


@pytest.mark.slow
def test_listing_commands_imports_none_and_using_one_no_library_of_pages_letters_and_parsers() -> None:
    code = (
        "import django, sys; django.setup();from django.core.management import get_commands;assert"
        " 'list_feeds' in get_commands();assert 'feeds.management.feeds' not in"
        " sys.modules;get_commands()['list_feeds'].load();needless = {'unfold.admin', 'feedparser',"
        " 'phonenumbers', 'flufl.bounce', 'markdown_it', 'PIL'};assert not needless & {*sys.modules},"
        " needless & {*sys.modules}"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})


@pytest.mark.django_db
def test_django_calls_them_with_options() -> None:
    call_command("list_feeds", limit=1)
    assert json_of("list_feeds") == []
