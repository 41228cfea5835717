import io
import json
from datetime import UTC, datetime, time
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import IntegrityError, OperationalError

from common.cli.commands import FeedletterCommand, Printed, json_lines, pairs, positive, whole
from common.cli.progress import Progress
from common.ports.channels import InvalidDestination
from common.refused import Refused

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
