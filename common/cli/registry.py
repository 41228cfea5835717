from importlib import import_module
from typing import Any

from django.core.management import BaseCommand, CommandParser, get_commands, load_command_class


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


def command_named(name: str) -> BaseCommand:
    """Raises KeyError."""
    app = get_commands()[name]
    return app.load() if isinstance(app, LazyCommand) else load_command_class(app, name)
