"""Aligned tables. Texts from feeds cannot control the terminal.

rich would keep all rows, takes 13 times as long for 20,000, and 40 ms to import.
"""

import json
import logging
import os
import shutil
import sys
import unicodedata
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar, cast

from django.core.exceptions import NON_FIELD_ERRORS, ImproperlyConfigured, ObjectDoesNotExist, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser, handle_default_options
from django.db import DatabaseError, OperationalError, ProgrammingError, connections, models
from django.utils import timezone

from common.checks import OWN_CHECKS
from common.cli.progress import Progress
from common.pictures.picture import BadPicture, CleanPicture
from common.program import MANAGE
from common.refused import Refused
from common.text import padded, text_width

Model = TypeVar("Model", bound=models.Model)
AddArguments = Callable[[CommandParser], object]
TableRow = Mapping[str, Any]
Paint = Callable[[str, str], str]
MEASURED = 200
NARROWEST = 8
COLUMN_GAP = "  "
BAD = {"failing", "failed", "held"}
WARNING = {"deferred", "paused", "stopped", "suppressed", "unconfirmed"}


def argument(*names: str, **kwargs: Any) -> AddArguments:
    return lambda parser: parser.add_argument(*names, **kwargs)


def field_argument(
    model: type[models.Model], name: str, *, option: str = "", usual: bool = False, **kwargs: Any
) -> AddArguments:
    """Return the option for a field, with its choices and help text; None if it is not given.

    With `usual`, the help names the default.
    """
    field: Any = model._meta.get_field(name)
    text = str(field.help_text).replace("%", "%%")
    given: dict[str, Any] = {"help": f"{text} (Usually {field.default}.)" if usual else text or None}
    if field.choices:
        given["choices"] = [value for value, _ in field.choices]
    elif isinstance(field, models.BooleanField):
        given |= {"action": BooleanOptionalAction, "default": None}
    elif isinstance(field, models.IntegerField):
        given |= {"type": whole, "metavar": "N"}
    elif isinstance(field, models.TimeField):
        given |= {"type": clock, "metavar": "HH:MM"}
    return argument(option or f"--{name.replace('_', '-')}", **{"dest": name, **given, **kwargs})


def clock(text: str) -> time:
    try:
        hour, minute = text.split(":")
        return time(int(hour), int(minute))
    except ValueError:
        raise ArgumentTypeError("give hours and minutes, such as 07:00.") from None


def positive(text: str) -> int:
    if whole(text) < 1:
        raise ArgumentTypeError("give a whole number, 1 or more.")
    return int(text)


def whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ArgumentTypeError("give a whole number, 0 or more.")
    return int(text)


def picture(path: str) -> CleanPicture | None:
    if not path:
        return None
    # Loads Pillow.
    from common.pictures.codec import clean_picture

    try:
        with Path(path).open("rb") as file:
            return clean_picture(file)
    except OSError as error:
        raise ArgumentTypeError(f"{path} cannot be read: {error.strerror}.") from error
    except BadPicture as error:
        raise ArgumentTypeError(f"{path}: {error}") from error


def find(rows: "models.QuerySet[Model]", what: str, hint: str, **lookup: Any) -> Model:
    """Raises CommandError."""
    try:
        return rows.get(**lookup)
    except ObjectDoesNotExist as error:
        raise CommandError(f"There is no {what} {next(iter(lookup.values()))}. {hint}") from error


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Parse key=value texts. Raises CommandError."""
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise CommandError(f"{option}: “{text}” is not of the form key=value.")
        values[key.strip()] = value
    return values


OUTPUT = argument("--output", metavar="FILE", help="Write there instead of printing.")


@dataclass(frozen=True, slots=True)
class Printed:
    sentence: str
    facts: Mapping[str, Any]


class _Plain:
    """stdout without added line ends: RFC 4180 ends lines with CRLF."""

    def __init__(self, stdout: Any) -> None:
        self.stdout = stdout

    def write(self, text: str) -> None:
        self.stdout.write(text, ending="")

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


Result = Printed | TableRow | Iterable[TableRow] | None


class FeedletterCommand(BaseCommand):
    """Subclasses have `arguments` and return from `run` a row, rows or a sentence."""

    arguments: tuple[AddArguments, ...] = ()
    # Options for fields of a ValidationError, if not --field-name.
    option_names: Mapping[str, str] = {}
    empty = "There is nothing to show."
    requires_system_checks: tuple[str, ...] | Literal["__all__"] = (OWN_CHECKS,)
    suppressed_base_arguments = {"--skip-checks"}  # noqa: RUF012 - Django's name and type

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON document, for programs.")
        for add in self.arguments:
            add(parser)
        self.add_options(parser)

    def add_options(self, parser: CommandParser) -> None:
        """Add what `arguments` cannot, such as groups."""

    def run(self, **options: Any) -> Result:
        """Raises CommandError, ValidationError or Refused."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with without_news():
                result = self.run(**options)
            self.show(result, as_json=bool(options["json"]))
        except ValidationError as error:
            raise CommandError(self.sentence(error)) from error
        except DatabaseError as error:
            if not is_about_the_database(error):
                raise
            raise CommandError(database_sentence(error)) from error
        except (Refused, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error

    def show(self, result: Result, *, as_json: bool) -> None:
        if as_json:
            for line in json_lines(result.facts if isinstance(result, Printed) else result):
                self.stdout.write(line)
        elif isinstance(result, Printed):
            self.stdout.write(result.sentence)
        elif isinstance(result, Mapping):
            for line in record(result, paint=self.paint()):
                self.stdout.write(line)
        elif result is not None:
            self.show_table(result)

    def show_table(self, rows: Iterable[TableRow]) -> None:
        room = shutil.get_terminal_size().columns if self.stdout.isatty() else None
        count = 0
        for count, line in enumerate(table_lines(rows, room=room, paint=self.paint()), 1):
            self.stdout.write(self.style.MIGRATE_HEADING(line) if count == 1 and room else line)
        if not count:
            self.stdout.write(self.empty)

    def paint(self) -> Any:
        def coloured(column: str, text: str) -> str:
            word = text.strip()
            if word in BAD:
                return str(self.style.ERROR(text))
            return str(self.style.WARNING(text)) if word in WARNING else text

        return coloured if self.stdout.isatty() else None

    def write_out(self, write: Callable[[Any], object], output: str | None, encoding: str = "utf-8") -> None:
        """Call `write` with the file, or with stdout (option OUTPUT). Raises CommandError."""
        if not output:
            write(_Plain(self.stdout))
            return
        try:
            with Path(output).open("w", encoding=encoding, newline="") as file:
                write(file)
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error.strerror}.") from error

    def progress(self, label: str, total: int | None = None, *, expected: str = "") -> Progress:
        return Progress(label, cast(TextIO, self.stderr), total=total, expected=expected)

    def note(self, text: str) -> None:
        self.stderr.write(text, self.style.WARNING if self.stderr.isatty() else str)

    def sentence(self, error: ValidationError) -> str:
        if not hasattr(error, "error_dict"):
            return " ".join(error.messages)
        sentences = []
        for field, messages in error.message_dict.items():
            name = self.option_names.get(field, "--" + field.replace("_", "-"))
            sentences += [text if field == NON_FIELD_ERRORS else f"{name}: {text}" for text in messages]
        return " ".join(sentences)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # So that wrong arguments raise CommandError, without usage.
        parser.called_from_command_line = False
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        self._called_from_command_line = True
        # The error and its open cursors must be gone before connections close.
        code = self._exit_code(argv)
        with suppress(DatabaseError):
            connections.close_all()
        if code:
            sys.exit(code)

    def _exit_code(self, argv: list[str]) -> int:
        options: dict[str, Any] = {}
        try:
            parser = self.create_parser(argv[0], argv[1])
            parsed = parser.parse_args(argv[2:])
            options = vars(parsed)
            handle_default_options(parsed)
            self.execute(*options.pop("args", ()), **options)
        except CommandError as error:
            if options.get("traceback"):
                raise
            self.stderr.write(str(error).removeprefix("Error: "))
            return error.returncode
        except BrokenPipeError:
            # `list_items | head`: the reader has closed the pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except KeyboardInterrupt:
            return 130
        return 0


@contextmanager
def without_news() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(max(before, logging.INFO))
    try:
        yield
    finally:
        logging.disable(before)


def is_about_the_database(error: DatabaseError) -> bool:
    """Return whether it is unreachable, locked, damaged or not migrated."""
    return type(error) in {DatabaseError, OperationalError, ProgrammingError}


def database_sentence(error: BaseException) -> str:
    """Drivers' messages contain no passwords."""
    text = "".join(str(error).strip().splitlines()[:1])
    if "malformed" in text or "not a database" in text:
        return f"The database file is damaged ({text}). Restore a backup: docs/operating/backup.md."
    if "is locked" in text:
        return f"The database cannot be used ({text}): another program holds it. End that one, or wait."
    if "readonly" in text or "unable to open" in text:
        return f"The database cannot be used ({text}). Its folder must be writable: DATABASE_URL, DATA_DIR."
    if "permission denied" in text:
        return (
            f"The database cannot be used ({text}). Its role must own it: "
            "docs/operating/scale.md#the-database."
        )
    if "unsupported startup parameter" in text:
        return f"The database cannot be used ({text}). Behind PgBouncer add ?prepare=off to DATABASE_URL."
    if text.endswith("does not exist") and 'database "' in text:
        return f"The database cannot be used ({text}). Create it first: docs/operating/scale.md#the-database."
    return (
        f"The database cannot be used ({text}). "
        f"Check DATABASE_URL, and run “{MANAGE} migrate” once if that was not done."
    )


def as_json(value: Any) -> Any:
    """Convert types for JSON: moments become ISO 8601 in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, time):
        return value.isoformat(timespec="minutes")
    raise TypeError(f"{type(value).__name__} is not JSON")


def json_lines(result: TableRow | Iterable[TableRow] | None) -> Iterator[str]:
    """Yield one JSON document: an object, or an array with a row per line."""
    if result is None or isinstance(result, Mapping):
        yield json.dumps(dict(result or {}), default=as_json, indent=2)
        return
    rows = (json.dumps(dict(row), default=as_json) for row in result)
    first = next(rows, None)
    if first is None:
        yield "[]"
        return
    previous = "[" + first
    for text in rows:
        yield previous + ","
        previous = text
    yield previous + "]"


def shown_fields(row: Any, names: str) -> dict[str, Any]:
    """Return these attributes, whose names are separated by spaces, as a table's row or a part of it."""
    return {name: getattr(row, name) for name in names.split()}


def cell(value: Any) -> str:
    """Use one line, without control characters, times in the local zone."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return timezone.localtime(value).isoformat(timespec="seconds")
    if isinstance(value, list | tuple):
        return ", ".join(cell(part) for part in value) or "–"
    visible = ("�" if unicodedata.category(char) in {"Cc", "Cf", "Cs"} else char for char in str(value))
    return "".join(visible).replace("\u2028", "�").replace("\u2029", "�")


def cut_to_width(text: str, limit: int) -> str:
    if text_width(text) <= limit:
        return text
    kept = text[:limit]
    while kept and text_width(kept) > limit - 1:
        kept = kept[:-1]
    return kept + "…"


def fit_columns(widths: list[int], room: int) -> list[int]:
    widths = list(widths)
    while sum(widths) + len(COLUMN_GAP) * (len(widths) - 1) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def table_lines(
    rows: Iterable[TableRow], *, room: int | None = None, paint: Paint | None = None
) -> Iterator[str]:
    """Widths come from the first MEASURED rows, so that many rows can be streamed.

    `room` is the terminal's columns, None to cut nothing.
    """
    remaining = iter(rows)
    measured = list(islice(remaining, MEASURED))
    if not measured:
        return
    names = list(measured[0])
    texts = [[cell(row[name]) for name in names] for row in measured]
    widths = [max(text_width(name), *(text_width(line[i]) for line in texts)) for i, name in enumerate(names)]
    widths = fit_columns(widths, room) if room else widths
    later = ([cell(row[name]) for name in names] for row in remaining)
    for line in chain([names], texts, later):
        cells = []
        for name, text, limit in zip(names, line, widths, strict=True):
            shown = padded(text if room is None else cut_to_width(text, limit), limit)
            cells.append(paint(name, shown) if paint and line is not names else shown)
        yield COLUMN_GAP.join(cells).rstrip()


def record(row: TableRow, *, paint: Paint | None = None) -> Iterator[str]:
    widest = max(map(text_width, row), default=0)
    for name, value in row.items():
        text = cell(value)
        yield f"{padded(name, widest)}{COLUMN_GAP}{paint(name, text) if paint else text}".rstrip()
