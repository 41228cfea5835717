import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping
from getpass import getpass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import field_argument, find, pairs, whole
from common.ports import channels
from feeds.management.options import find_feed
from feeds.models import Feed
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import NEWSLETTER_FIELDS

# Fields with an option or argument of another form.
OF_OTHER_FORMS = {"name", "channel", "stopped", "weekday", "embed_hosts", "options", "params"}
OPTION_HELP = {"max_posts": "Further posts are listed by title. 0 for all in full."}
# Options not called --name-of-the-field.
OPTION_NAMES: Mapping[str, str] = {
    "name": "NAME",
    "feeds": "--feed",
    "from_email": "--from",
    "params": "--param",
    "post_order": "--order",
    "weekdays": "--weekday",
    "embed_hosts": "--embed-host",
}
OPTION_FIELDS = tuple(name for name in NEWSLETTER_FIELDS if name not in OF_OTHER_FORMS)


def add_newsletter(parser: CommandParser) -> None:
    parser.add_argument("newsletter", metavar="NAME", help="The newsletter; “list_subscribables” shows them.")


def find_subscribable(name: str) -> Subscribable:
    hint = "“list_subscribables” lists them."
    found: Subscribable = find(Subscribable.objects.all(), "newsletter", hint, name=name)
    return found


def add_fields(parser: CommandParser) -> None:
    """Options left out are None."""
    parser.add_argument(
        "--feed", type=whole, action="append", metavar="ID", help="May be given several times."
    )
    for name in OPTION_FIELDS:
        told: dict[str, Any] = {"help": OPTION_HELP[name]} if name in OPTION_HELP else {}
        field_argument(Subscribable, name, option=OPTION_NAMES.get(name, ""), **told)(parser)
    parser.add_argument(
        "--weekday",
        dest="weekdays",
        type=weekday,
        action="append",
        metavar="DAY",
        help="weekly: the day, such as monday. May be given several times, for an issue on each.",
    )
    parser.add_argument(
        "--embed-host",
        action="append",
        metavar="HOST",
        help="A site that shows its form, such as blog.example.org. May be given several times. “” for none.",
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="KEY=VALUE", help="A %%Field%% in templates."
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="The channel needs it."
    )


def fields(options: Mapping[str, Any]) -> dict[str, Any]:
    given = {
        name: options[name]
        for name in ("channel", "weekdays", *OPTION_FIELDS)
        if options.get(name) is not None
    }
    if given.get("max_posts") == 0:
        given["max_posts"] = None
    if options["option"]:
        given["options"] = pairs(options["option"], "--option")
    if options["embed_host"] is not None:
        given["embed_hosts"] = "\n".join(options["embed_host"])
    return given


def feeds(options: Mapping[str, Any]) -> list[Feed]:
    """Raises CommandError for a missing feed."""
    return [find_feed(pk) for pk in dict.fromkeys(options["feed"] or ())]


def weekday(text: str) -> int:
    names = [label.lower() for label in Subscribable.Weekday.labels]
    found = [number for number, name in enumerate(names) if name.startswith(text.lower()) and len(text) >= 2]
    if len(found) != 1:
        raise ArgumentTypeError(f"give one of {', '.join(names)}.")
    return found[0]


def fields_of_all_channels() -> Iterator[channels.Field]:
    seen: set[str] = set()
    for kind in channels.newsletter_kinds():
        for field in kind.destination_fields:
            if field.name not in seen:
                seen.add(field.name)
                yield field


def add_destination(parser: CommandParser) -> None:
    kinds = channels.newsletter_kinds()
    for field in fields_of_all_channels():
        words = help_of(field, kinds)
        parser.add_argument(option(field), dest=field.name, metavar=field.name.upper(), help=words)


def help_of(field: channels.Field, kinds: Iterable[channels.ChannelSpec]) -> str:
    """Return the words of every service that has such a field; services with the same words share them."""
    services: dict[str, list[str]] = {}
    for kind in kinds:
        for own in kind.destination_fields:
            if own.name == field.name:
                services.setdefault((own.help or own.label).rstrip(".") + ".", []).append(kind.label)
    texts = [f"{', '.join(labels)}: {words}" for words, labels in services.items()]
    return " ".join([*texts, *["“-” asks for it."] * field.secret]).replace("%", "%%")


def option(field: channels.Field) -> str:
    return "--" + field.name.replace("_", "-")


def destination(options: Mapping[str, Any], kind: channels.ChannelSpec) -> dict[str, str]:
    """Raise CommandError for another channel's fields or missing ones."""
    given = {field.name: field for field in fields_of_all_channels() if options.get(field.name) is not None}
    own = {field.name for field in kind.destination_fields}
    if strange := [option(field) for name, field in given.items() if name not in own]:
        raise CommandError(f"{kind.label} does not use {', '.join(strange)}. Leave that out.")
    needed = [
        option(field) for field in kind.destination_fields if field.required and field.name not in given
    ]
    if needed:
        raise CommandError(f"{kind.label} needs {', '.join(needed)}.")
    return {
        name: typed_secret(field) if options[name] == "-" else str(options[name])
        for name, field in given.items()
    }


def add_bridge_destination(parser: CommandParser) -> None:
    """Add options for the bridges' destinations. Their names must differ from ours."""
    group = parser.add_argument_group("where a bridge posts (“list_channels” says what each service needs)")
    kinds = channels.bridge_kinds()
    for field in channels.bridge_fields():
        words, metavar = help_of(field, kinds), field.name.upper()
        group.add_argument(option(field), dest=f"to_{field.name}", metavar=metavar, help=words)


def bridge_destination(options: Mapping[str, Any], kind: channels.ChannelSpec) -> dict[str, str]:
    """Like `destination`, but {} if no field was given."""
    given = {field.name: options[f"to_{field.name}"] for field in channels.bridge_fields()}
    if all(value is None for value in given.values()):
        return {}
    return destination(given, kind)


def typed_secret(field: channels.Field) -> str:
    """Read a secret, which must not be in the process list."""
    if not field.secret:
        return "-"
    return getpass(f"{field.label}: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
