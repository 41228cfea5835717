"""Write docs/reference/ from the code: `make reference`."""

from argparse import Action
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from django.core import management as django_commands
from django.core.management import BaseCommand, find_commands, get_commands, load_command_class

from common.cli.registry import LazyCommand
from tests.console import command_named
from tests.documentation import interfaces, service_events
from tests.documentation.tables import escaped, table

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
NOTE = "This page is written by `make reference`."
# Apps with commands, and their titles.
APPS = {
    "feedletter_site": "Site",
    "feeds": "Feeds and posts",
    "subscriptions": "Newsletters, bridges and subscribers",
    "delivery": "Sending",
    "reader": "Reading feeds here",
    "chat": "Discord bot",
    "demo": "Demo",
}


@cache
def pages() -> dict[str, str]:
    from drf_spectacular.generators import SchemaGenerator

    from tests.documentation import bridge_options, template_values

    description = SchemaGenerator().get_schema(request=None, public=True)
    return {
        "settings.md": "\n".join(settings_lines()),
        "commands.md": "\n".join(command_lines()),
        "metrics.md": "\n".join(metric_lines()),
        "mail-services.md": service_events.page(),
        "api.md": "\n".join(interfaces.api_lines(description)),
        "webhooks.md": "\n".join(interfaces.webhook_lines(description)),
        "bridges.md": "\n".join(bridge_options.lines()),
        "templates.md": "\n".join(template_values.lines()),
    }


def settings_lines() -> Iterator[str]:
    from feedletter_site.env import declared

    yield "# Settings\n"
    yield f"How to set them: [settings](../operating/settings.md). {NOTE}\n"
    for section, settings in declared.items():
        yield f"## {section}\n"
        yield from table(
            ("variable", "default", "value", "meaning"),
            ((f"`{name}`", each.default, each.expected, each.help) for name, each in settings.items()),
        )


def command_lines() -> Iterator[str]:
    yield "# Commands\n"
    yield (
        "`manage.py COMMAND --help` prints the same. Each command also takes Django’s options, and most take "
        f"`--json`, which prints one JSON document. {NOTE}\n"
    )
    for app, names in groupby(sorted(get_commands(), key=_place), _app):
        if app in APPS:
            yield f"## {APPS[app]}\n"
            for name in names:
                yield from _command(name)


def _app(name: str) -> str:
    app = get_commands()[name]
    return app.module.partition(".")[0] if isinstance(app, LazyCommand) else app


def _place(name: str) -> tuple[int, str]:
    apps = list(APPS)
    return (apps.index(app) if (app := _app(name)) in APPS else len(apps)), name


def _command(name: str) -> Iterator[str]:
    parser = command_named(name).create_parser("manage.py", name)
    is_django = name in find_commands(django_commands.__path__[0])
    base = load_command_class("django.core", name) if is_django else BaseCommand()
    known = {"--json", *_names(base.create_parser("manage.py", name)._actions)}
    own = [each for each in parser._actions if not known & {*_names([each])}]
    yield f"### {name}\n"
    yield f"{escaped(parser.description or '')}\n"
    if own:
        formatter = parser._get_formatter()
        yield from table(
            ("argument", "meaning"),
            ((f"`{_signature(each)}`", formatter._expand_help(each) if each.help else "") for each in own),
        )


def _names(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        yield from action.option_strings or [action.dest]


def _signature(action: Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    if action.choices is not None and not action.metavar:
        value = "|".join(map(str, action.choices))
    signature = ", ".join([*action.option_strings]) + (f" {value}" if value else "")
    if action.nargs in ("+", "*"):
        signature += " …"
    is_optional = action.nargs in ("?", "*") if not action.option_strings else not action.required
    return signature.strip() if action.option_strings or not is_optional else f"[{signature.strip()}]"


def metric_lines() -> Iterator[str]:
    from feedletter_site.monitoring.metrics import COUNTED_EVENTS, GAUGES, INFO

    yield "# Metrics\n"
    yield f"Prometheus metrics of `/metrics`: [how to read them](../operating/watch.md#prometheus). {NOTE}\n"
    metrics = [
        *(("gauge", name, about) for name, about in GAUGES.items()),
        *(("counter", f"{name}_total", about) for name, about in COUNTED_EVENTS.items()),
        ("info", "info", INFO),
    ]
    yield from table(
        ("metric", "type", "label", "meaning"),
        (
            (f"`feedletter_{name}`", kind, f"`{label}`" if label else "", text)
            for kind, name, (text, label) in metrics
        ),
    )


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "feedletter_site.settings"
    django.setup()
    write()
