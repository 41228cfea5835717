import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser, get_commands

_NOUN = re.compile(r'^    noun = "([\w ]+)"$', re.MULTILINE)
_VERB = re.compile(r"^    @verb\((.*?)\)\n    def (\w+)", re.MULTILINE | re.DOTALL)
_PLURAL = re.compile(r'^    plural = "(\w+)"$', re.MULTILINE)
_NAMED = re.compile(r'command="(\w+)"')
_ELSEWHERE = re.compile(r"\bon=\((?![^)]*COMMAND)[^)]*\)")


class LazyCommand(BaseCommand):
    """Represents a command until it is used, so that listing commands imports none."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        super().__init__()

    def load(self) -> BaseCommand:
        command = getattr(import_module(self.module), "".join(map(str.capitalize, self.name.split("_"))))
        return command()  # type: ignore[no-any-return]

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return self.load().create_parser(prog_name, subcommand, **kwargs)

    def print_help(self, prog_name: str, subcommand: str) -> None:
        self.load().print_help(prog_name, subcommand)

    def run_from_argv(self, argv: list[str]) -> None:
        self.load().run_from_argv(argv)

    def execute(self, *args: Any, **options: Any) -> str | None:
        return self.load().execute(*args, **options)

    def rpartition(self, separator: str) -> tuple[str, str, str]:
        """`manage.py help` groups commands by the last part of a dotted name."""
        return ("", "", self.module.partition(".")[0])


def add_commands(package: str, **names: str) -> None:
    """Register commands: "list_feeds" is the class `ListFeeds` of its module."""
    for module, commands in names.items():
        for name in commands.split():
            # Django calls instances in this table as they are (`call_command`, `fetch_command`).
            get_commands()[name] = LazyCommand(f"{package}.{module}", name)  # type: ignore[assignment]


class LazyVerb(LazyCommand):
    """Represents a verb's command until it is used."""

    def load(self) -> BaseCommand:
        from common.cli.resources import command_of

        return command_of(self.module, self.name)


def add_resources(*modules: str) -> None:
    """Register the verbs of each module's resources as commands."""
    for module in modules:
        for name in commands_in(module):
            get_commands()[name] = LazyVerb(module, name)  # type: ignore[assignment]


def commands_in(module: str) -> Iterator[str]:
    """Yield the commands of resources, read from their source: importing it would take longer."""
    spec = find_spec(module)
    source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
    _, *parts = _NOUN.split(source)
    for noun, text in zip(parts[::2], parts[1::2], strict=True):
        if "\n    list_help = " in text:
            plural = _PLURAL.search(text)
            yield f"list_{plural[1] if plural else f'{noun}s'}"
        for given, name in _VERB.findall(text):
            if not _ELSEWHERE.search(given):
                named = _NAMED.search(given)
                yield named[1] if named else f"{name}_{noun}"
