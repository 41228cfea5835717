"""Commands made from the verbs of a resource."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import record
from common.clock import utcnow
from common.resources import COMMAND, Done, Given, Resource, Verb


def command_of(module: str, name: str) -> FeedletterCommand:
    resources = (each for each in vars(import_module(module)).values() if isinstance(each, Resource))
    commands = (VerbCommand(resource, each) for resource in resources for each in resource.verbs(COMMAND))
    return next(each for each in commands if each.verb.command == name)


class VerbCommand(FeedletterCommand):
    """Does a verb to one row, and shows its sentence and the row."""

    def __init__(self, resource: Resource[Any], verb: Verb) -> None:
        super().__init__()
        self.resource, self.verb, self.help = resource, verb, verb.help

    def add_options(self, parser: CommandParser) -> None:
        resource = self.resource
        if resource.key == "pk":
            hint = f"The number that “{resource.list_command}” shows."
            parser.add_argument("row", type=whole, metavar="ID", help=hint)
        else:
            hint = resource.key_help or f"The {resource.noun}’s {resource.key}."
            parser.add_argument("row", metavar=resource.key.upper(), help=hint)
        for given in self.verb.given(COMMAND):
            add_option(parser, given)
        if self.verb.asks is not None:
            parser.add_argument("--dry-run", action="store_true", help="Only say what it would do.")

    def run(self, **options: Any) -> Result:
        resource, verb = self.resource, self.verb
        row = resource.find(options["row"])
        if options.get("dry_run") and verb.asks is not None:
            asked = verb.asks([row])
            done = asked if isinstance(asked, Done) else Done(" ".join(asked))
            return Printed(done.sentence, done.numbers)
        given = {each.name: options[each.name] for each in verb.given(COMMAND)}
        pk, before = row.pk, resource.shown(row) if verb.deletes else {}
        done = verb.run(resource, row, given, now=utcnow(), budget=None, by=COMMAND)
        if verb.deletes and not done.numbers:
            name = "id" if resource.key == "pk" else resource.key
            return Printed(done.sentence, {**before, name: options["row"], "message": done.sentence})
        if done.numbers:
            return Printed(done.sentence, done.numbers)
        shown = resource.shown(resource.rows().get(pk=pk))
        return Printed("\n".join([done.sentence, *record(shown, paint=self.paint())]), shown)


def add_option(parser: CommandParser, given: Given) -> None:
    kinds: Mapping[type, dict[str, Any]] = {
        bool: {"action": "store_true"},
        datetime: {"type": moment, "metavar": "TIME"},
        str: {"default": "" if not given.is_required else None},
        int: {"type": whole, "metavar": "N"},
    }
    parser.add_argument(
        f"--{given.name.replace('_', '-')}",
        required=given.is_required,
        help=given.argument.help,
        **kinds[given.kind],
    )


def moment(text: str) -> datetime:
    """An argument: a time with its offset, such as 2026-03-01T07:00+01:00."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise ArgumentTypeError("give a time with its offset, such as 2026-03-01T07:00+01:00.")
    return read
