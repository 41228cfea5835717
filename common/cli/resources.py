"""Commands made from the verbs of a resource."""

from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from itertools import chain
from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result, positive, record, table_lines, whole
from common.clock import utcnow
from common.resources import COMMAND, Done, Given, Resource, Verb

NOTHING_LIKE_IT = "Nothing fits these filters."


def command_of(module: str, name: str) -> FeedletterCommand:
    resources = (each for each in vars(import_module(module)).values() if isinstance(each, Resource))
    return next(each for resource in resources for each in commands_of(resource) if each.name == name)


def commands_of(resource: Resource[Any]) -> "Iterator[ListCommand | VerbCommand]":
    if "list_help" in vars(type(resource)):
        yield ListCommand(resource)
    yield from (VerbCommand(resource, each) for each in resource.verbs(COMMAND))


class ListCommand(FeedletterCommand):
    """Lists the rows of a resource that its filters leave."""

    def __init__(self, resource: Resource[Any]) -> None:
        super().__init__()
        self.resource, self.name = resource, resource.list_command
        self.help, self.empty = resource.list_help, resource.empty
        self.filters = [each for each in resource.filters if COMMAND in each.on]

    def add_options(self, parser: CommandParser) -> None:
        for each in self.filters:
            names = named(each.name, is_first=not each.is_optional)
            more = {"help": each.help, **ARGUMENT_TYPES[each.kind]}
            if each.choices:
                more["choices"] = each.choices
            if each.owner:
                owner = each.owner()
                more["metavar"] = owner.metavar
                if not each.is_optional:
                    more["help"] = f"The {owner.noun}; “{owner.list_command}” shows them."
            parser.add_argument(*names, **more)
        kind = whole if self.resource.order == "pk" else str
        parser.add_argument("--limit", type=positive, help="At most this many.")
        parser.add_argument(
            "--after", type=kind, metavar="ID" if kind is whole else "NAME", help="Only rows after this one."
        )

    def run(self, **options: Any) -> Result:
        rows = self.resource.rows()
        for each in self.filters:
            value = options[each.name]
            if value is None or value is False:
                continue
            if each.owner:
                each.owner().find(value)
            rows, self.empty = each.applied(rows, value), NOTHING_LIKE_IT if each.is_optional else self.empty
        return iter(self.resource.listed(self.page(rows, options["after"], options["limit"])))

    def page(self, rows: Any, after: Any, limit: int | None) -> Iterator[Any]:
        order = self.resource.order
        rows = rows.order_by(order)
        if after is not None:
            rows = rows.filter(**{f"{order}__gt": after})
        return (rows[:limit] if limit else rows).iterator(chunk_size=1000)  # type: ignore[no-any-return]


class VerbCommand(FeedletterCommand):
    """Does a verb to one row, and shows its sentence and the row."""

    def __init__(self, resource: Resource[Any], verb: Verb) -> None:
        super().__init__()
        self.resource, self.verb, self.name, self.help = resource, verb, verb.command, verb.help
        self.given = verb.given(COMMAND)
        self.option_names = {each.name: typed_as(each) for each in self.given}

    def add_options(self, parser: CommandParser) -> None:
        resource = self.resource
        if self.verb.detail and resource.key == "pk":
            hint = f"The number that “{resource.list_command}” shows."
            parser.add_argument("row", type=whole, metavar=resource.metavar, help=hint)
        elif self.verb.detail:
            hint = resource.key_help or f"The {resource.noun}’s {resource.key}."
            parser.add_argument("row", metavar=resource.metavar, help=hint)
        for given in self.given:
            add_option(parser, given)
        if self.verb.asks is not None:
            parser.add_argument("--dry-run", action="store_true", help="Only say what it would do.")

    def run(self, **options: Any) -> Result:
        resource, verb = self.resource, self.verb
        row = resource.find(options["row"]) if verb.detail else None
        if options.get("dry_run") and verb.asks is not None:
            asked = verb.asks([row])
            done = asked if isinstance(asked, Done) else Done(" ".join(asked))
            return self.printed(done.sentence, done.numbers)
        given = {each.name: options[each.name] for each in self.given}
        pk, before = row and row.pk, resource.shown(row) if row and verb.deletes else {}
        done = verb.run(resource, row, given, now=utcnow(), budget=None, by=COMMAND)
        if verb.deletes and not done.numbers:
            name = "id" if resource.key == "pk" else resource.key
            return self.printed(done.sentence, {**before, name: options["row"], "message": done.sentence})
        if done.numbers or not verb.detail:
            return self.printed(done.sentence, done.numbers)
        shown = resource.shown(resource.rows().get(pk=pk))
        return self.printed(done.sentence, shown, shown)

    def printed(self, page: Any, facts: Mapping[str, Any], *more: Any) -> Printed:
        parts = [*(page if isinstance(page, list) else [page]), *more]
        return Printed("\n".join(chain.from_iterable(map(self.lines_of, parts))), facts)

    def lines_of(self, part: Any) -> Iterable[str]:
        if isinstance(part, str):
            return [part]
        draw = record if isinstance(part, Mapping) else table_lines
        return draw(part, paint=self.paint())


def moment(text: str) -> datetime:
    """An argument: a time with its offset, such as 2026-03-01T07:00+01:00."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise ArgumentTypeError("give a time with its offset, such as 2026-03-01T07:00+01:00.")
    return read


ARGUMENT_TYPES: Mapping[Any, dict[str, Any]] = {
    bool: {"action": "store_true"},
    datetime: {"type": moment, "metavar": "TIME"},
    str: {},
    int: {"type": whole, "metavar": "N"},
    Sequence[str]: {"action": "append"},
}


def add_option(parser: CommandParser, given: Given) -> None:
    argument = given.argument
    more: dict[str, Any] = {"help": argument.help, **ARGUMENT_TYPES[given.kind]}
    if argument.values:
        more["choices"] = argument.values
    if argument.metavar or argument.is_first:
        more["metavar"] = argument.metavar or given.name.upper()
    if not argument.is_first:
        more |= {"dest": given.name, "required": given.is_required}
    if not given.is_required and given.kind in (str, int, Sequence[str]):
        more["default"] = list(given.default) if given.default == () else given.default
    parser.add_argument(*named(argument.option or given.name, is_first=argument.is_first), **more)


def typed_as(given: Given) -> str:
    return given.name.upper() if given.argument.is_first else f"--{given.argument.option or given.name}"


def named(name: str, *, is_first: bool) -> tuple[str]:
    return (name,) if is_first else (f"--{name.replace('_', '-')}",)
