"""Options that add_feed and alter_feed share."""

import sys
from collections.abc import Mapping
from getpass import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import field_argument, find
from feeds.models import Feed
from feeds.models.feed import SETTINGS, TIMES

# If it is not --name-of-the-field.
OPTION_NAMES: Mapping[str, str] = {
    "tags": "--tag",
    "password": "--password-file",
    "value": "--header",
    "credentials": "--user, --header",
}
LONGEST_SECRET = 10_000


def add_settings(parser: CommandParser, *, defaults: bool) -> None:
    parser.add_argument(
        "--ping",
        action="store_true",
        help="Set all four times to 0: posts are sent as soon as they are seen.",
    )
    for name in SETTINGS:
        field_argument(Feed, name, usual=defaults and name in TIMES)(parser)


def settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Raise CommandError for --ping with another time."""
    given = {name: options[name] for name in SETTINGS if options[name] is not None}
    if not options["ping"]:
        return given
    if twice := next((name for name in TIMES if name in given), None):
        name = twice.replace("_", "-")
        raise CommandError(f"--ping sets all four timings to 0: leave out --{name}, or --ping.")
    return {**given, **dict.fromkeys(TIMES, 0)}


def add_credentials(parser: CommandParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--user", help="A user name; the password is asked for, or the line piped in.")
    which.add_argument(
        "--header", metavar="“NAME: VALUE”", help="A header to send; with the value “-” it is asked for."
    )
    parser.add_argument("--password-file", metavar="FILE", help="Read the password there instead.")


def credentials(options: Mapping[str, Any]) -> dict[str, str] | None:
    """Return None if nothing was given. Raises CommandError."""
    user, header, file = options.get("user"), options.get("header"), options.get("password_file")
    if file is not None and user is None:
        raise CommandError("--password-file: give --user, too.")
    if user is not None:
        return {"user": user, "password": read_secret(file) if file is not None else ask_secret("Password")}
    if header is None:
        return None
    name, colon, value = header.partition(":")
    if not colon:
        raise CommandError("--header: write it as “Name: value”.")
    return {"header": name, "value": ask_secret(name) if value.strip() == "-" else value}


def ask_secret(label: str) -> str:
    """Read a secret that must not be in the list of processes."""
    return getpass(f"{label}: ") if sys.stdin.isatty() else sys.stdin.readline(LONGEST_SECRET).rstrip("\r\n")


def read_secret(name: str) -> str:
    """Raise CommandError if the file is unreadable."""
    try:
        with Path(name).open(encoding="utf-8-sig") as file:
            return file.readline(LONGEST_SECRET).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CommandError(f"--password-file: {name} cannot be read: {reason}.") from error


def find_feed(pk: int) -> Feed:
    feed: Feed = find(Feed.objects.all(), "feed", "“list_feeds” lists them.", pk=pk)
    return feed
