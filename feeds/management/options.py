"""Options that add_feed and alter_feed share."""

import sys
from argparse import BooleanOptionalAction
from collections.abc import Mapping
from getpass import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import find, whole
from feeds.models import Feed

# If it is not --name-of-the-field.
OPTION_NAMES: Mapping[str, str] = {
    "tags": "--tag",
    "password": "--password-file",
    "value": "--header",
    "credentials": "--user, --header",
}
LONGEST_SECRET = 10_000

TIMINGS: Mapping[str, tuple[int, str]] = {
    "min_delay_minutes": (30, "A post is never sent earlier than this after it was first seen"),
    "await_stabilization_minutes": (15, "A post must have stayed unchanged this long"),
    "max_delay_minutes": (180, "A post that keeps changing is sent after this all the same"),
    "recheck_every_minutes": (10, "How often the feed is read"),
}


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def add_timings(parser: CommandParser, *, defaults: bool) -> None:
    parser.add_argument(
        "--ping", action="store_true", help="All four 0: posts go out as soon as they are seen."
    )
    for name, (default, text) in TIMINGS.items():
        usual = f" (usually {default})" if defaults else ""
        parser.add_argument(option(name), type=whole, metavar="N", help=text + usual + ".")


def timings(options: Mapping[str, Any]) -> dict[str, int]:
    """Raise CommandError for --ping with another timing."""
    given = {name: options[name] for name in TIMINGS if options[name] is not None}
    if options["ping"] and given:
        raise CommandError(
            f"--ping sets all four timings to 0: leave out {option(next(iter(given)))}, or --ping."
        )
    return dict.fromkeys(TIMINGS, 0) if options["ping"] else given


SWITCHES: Mapping[str, str] = {
    "hold_floods": "Ask before sending when more than 10 and more than half of its posts are new at once.",
    "join_reposts": "Do not send a post again that comes back under a new id, at the address it had.",
    "use_hub": "Let the feed’s hub push new posts (WebSub).",
}


def add_settings(parser: CommandParser) -> None:
    parser.add_argument(
        "--pace",
        choices=Feed.Pace.values,
        help="fixed reads it at its interval (the usual one), adaptive at the pace at which it publishes.",
    )
    parser.add_argument(
        "--ceiling-minutes",
        type=whole,
        metavar="N",
        help="The longest interval that its own rhythm, its server’s wishes or a hub may lead to (60).",
    )
    for name, text in SWITCHES.items():
        parser.add_argument(option(name), action=BooleanOptionalAction, default=None, help=text)


def settings(options: Mapping[str, Any]) -> dict[str, Any]:
    names = ("pace", "ceiling_minutes", *SWITCHES)
    return {name: options[name] for name in names if options.get(name) is not None}


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
    feed: Feed = find(Feed.objects.all(), "feed", "“list_feeds” shows those there are.", pk=pk)
    return feed
