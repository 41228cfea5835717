from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Iterable
from datetime import time
from pathlib import Path
from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.core.management.base import CommandError, CommandParser
from django.db import models

from common.pictures.picture import BadPicture, CleanPicture

Model = TypeVar("Model", bound=models.Model)
AddArguments = Callable[[CommandParser], object]


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
