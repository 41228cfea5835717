"""Record all output of commands, REST API and admin on the demo's database, at one fixed time.

`python -m tests.contracts.golden.record FOLDER` fills the demo's database and writes the files.
"""

import io
import json
import logging
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import time_machine

from tests import forks
from tests.databases import migrated_file
from tests.e2e.processes import clean_environment

NOW = datetime(2026, 3, 31, 10, 17, tzinfo=UTC)
PORT = 18_490
# Values that differ from run to run, and their replacements.
VARYING = (
    (re.compile(r"127\.0\.0\.1:\d{4,5}"), "127.0.0.1:PORT"),
    (re.compile(r"/[\w./-]+?(?=/demo\b)"), "DATA"),
    (re.compile(r"<[0-9a-f.]{16,}@"), "<ID@"),
    (re.compile(r"\b(fl[a-z]?_|eyJ)[\w.-]{16,}"), r"\1TOKEN"),
    (re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{32,}\b"), "TOKEN"),
    (re.compile(r"(?<=/reader/picks/1-)[\w-]{22}"), "TOKEN"),
)
LISTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "list_subscribers": (("harbour-weekly",),),
    "list_rules": (("harbour-weekly",),),
    "list_follows": (("admin",),),
    "list_entries": (("admin",),),
    "list_deliveries": (("--issue", "1"), ("--issue", "1", "--limit", "2")),
}
SHOWN: dict[str, tuple[tuple[str, ...], ...]] = {
    "show_issue": (("1",), ("2",)),
    "show_delivery": (("1",),),
    "show_item": (("1",),),
    "show_feed": (("1",),),
    "show_template": (("letter.html",),),
    "show_letter": (("1",),),
    "show_settings": ((),),
}
# With any argument these begin to write files.
WORKING_ON_FILES = {
    *("backup", "restore", "migrate", "export_opml", "export_follows", "export_subscribers"),
    *("export_site", "import_site"),
}


def main(folder: Path) -> None:
    import django

    django.setup()
    logging.disable(logging.CRITICAL)
    with time_machine.travel(NOW, tick=False):
        random.seed(1)
        fill()
        for name, record in (
            ("help.txt", command_help),
            ("commands.txt", shown_by_commands),
            ("api.txt", answers_of_the_api),
            ("openapi.yaml", openapi),
            ("admin.txt", actions_of_the_admin),
            # Last: some of these names are accepted.
            ("refusals.txt", refused_by_commands),
        ):
            text = steady("".join(f"{line}\n" for line in record()))
            (folder / name).write_text(text, encoding="utf-8")


def in_the_demo(folder: Path) -> int:
    """Run `main` in a process of its own with the demo's environment, in a new folder."""
    from demo.environment import environment

    with tempfile.TemporaryDirectory() as data, patch.dict(os.environ, {"BIND": f"127.0.0.1:{PORT}"}):
        own = {"DJANGO_SETTINGS_MODULE": "feedletter_site.settings", "COLUMNS": "100", "TZ": "UTC"}
        values = environment(Path(data) / "demo", clean_environment(own)) | {
            "SECRET_KEY": "golden" * 10,
            "TIME_ZONE": "UTC",
        }
        command = [sys.executable, "-m", "tests.contracts.golden.record", str(folder)]
        return forks.run(command, env=values).returncode


def steady(text: str) -> str:
    """Replace values that differ from run to run."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return re.sub(r"[ \t]+$", "", text, flags=re.M)


def fill() -> None:
    from django.conf import settings

    from demo.management.commands.demo import Command
    from feeds.models import Poll

    def migrate(name: str, **_: Any) -> None:
        shutil.copy(migrated_file(), settings.DATABASES["default"]["NAME"])

    command = Command()
    command.quiet = True
    # Feeds that are due together are read in the order of their keys.
    usual, settings.POLL_THREADS = settings.POLL_THREADS, 1
    with patch("demo.management.commands.demo.call_command", migrate):
        command.run()
    settings.POLL_THREADS = usual
    # Measured times differ.
    Poll.objects.update(duration_ms=0)


def commands() -> list[str]:
    """Names of our commands."""
    from django.core.management import get_commands

    from common.cli.registry import LazyCommand

    ours = ("feeds", "subscriptions", "delivery", "reader", "chat", "feedletter_site", "demo")
    return sorted(name for name, app in get_commands().items() if isinstance(app, LazyCommand) or app in ours)


def command_help() -> Iterator[str]:
    from tests.console import command_named

    for name in commands():
        yield f"=== {name}"
        yield command_named(name).create_parser("manage.py", name).format_help()


def called(*arguments: str) -> str:
    """Everything a command prints, its refusal included, and nothing where it would not end."""
    from django.core.management.base import OutputWrapper

    from common.cli.commands import FeedletterCommand
    from tests.console import command_named

    command = command_named(arguments[0])
    assert isinstance(command, FeedletterCommand)
    out, err = io.StringIO(), io.StringIO()
    command.stdout, command.stderr = OutputWrapper(out), OutputWrapper(err)
    code = command._exit_code(["manage.py", *arguments])
    return f"{out.getvalue()}{err.getvalue()}[{code}]"


def shown_by_commands() -> Iterator[str]:
    """Tables and JSON of each `list_…` without arguments, and of each `show_…` of its first rows."""
    for name in commands():
        if not name.startswith("list_"):
            continue
        for arguments in LISTED.get(name, ((),)):
            for json_option in ((), ("--json",)):
                yield f"=== {' '.join((name, *arguments, *json_option))}"
                yield called(name, *arguments, *json_option)
    for name, rows in SHOWN.items():
        for row in rows:
            for json_option in ((), ("--json",)):
                yield f"=== {' '.join((name, *row, *json_option))}"
                yield called(name, *row, *json_option)


def refused_by_commands() -> Iterator[str]:
    """Missing, wrong and unknown arguments of every command."""
    from tests.console import command_named

    for name in commands():
        parser = command_named(name).create_parser("manage.py", name)
        needed = [action for action in parser._actions if action.required or not action.option_strings]
        positional = [action for action in needed if not action.option_strings]
        if not needed or name in WORKING_ON_FILES:
            continue
        required = [action for action in needed if action.option_strings]
        given = [text for action in required for text in (action.option_strings[0], example(action))]
        cases = [[], *([[*["nothing-of-this-name"] * len(positional), *given]] if positional else [])]
        if positional:
            cases.append([*["999999"] * len(positional), *given])
        for case in cases:
            yield f"=== {' '.join((name, *case))}"
            yield called(name, *case)


def example(action: Any) -> str:
    return str(next(iter(action.choices))) if action.choices else "nothing"


def client() -> Any:
    from django.contrib.auth.models import User
    from django.test import Client

    found = Client(SERVER_NAME="127.0.0.1", SERVER_PORT=str(PORT))
    found.force_login(User.objects.get(username="admin"))
    return found


def answers_of_the_api() -> Iterator[str]:
    """Yield each GET of the REST API: lists, and the first row of each."""
    schema, browser = described(), client()
    first: dict[str, str] = {}
    for path in sorted(schema["paths"]):
        if "get" not in schema["paths"][path]:
            continue
        parent, braces, rest = path.partition("{")
        if braces and parent not in first:
            continue
        url = f"{parent}{first[parent]}{rest.partition('}')[2]}" if braces else path
        answer = browser.get(url, headers={"accept": "application/json"})
        yield f"=== GET {url} {answer.status_code}"
        try:
            document = answer.json()
        except ValueError:
            yield f"({answer.headers.get('Content-Type', '')})"
            continue
        yield json.dumps(document, indent=1, ensure_ascii=False)
        rows = document.get("results") if isinstance(document, dict) else document
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            keys = [rows[0][key] for key in ("name", "id", "key") if rows[0].get(key) not in (None, "")]
            detail = next(
                (other for other in schema["paths"] if other.startswith(f"{path.rstrip('/')}/{{")), ""
            )
            if detail and keys:
                by_name = "{name}" in detail or "{channel" in detail
                first[detail.partition("{")[0]] = str(keys[0] if by_name else rows[0].get("id", keys[0]))


@cache
def described() -> Any:
    from drf_spectacular.generators import SchemaGenerator

    return SchemaGenerator().get_schema(request=None, public=True)


def openapi() -> Iterator[str]:
    from drf_spectacular.renderers import OpenApiYamlRenderer

    yield OpenApiYamlRenderer().render(described()).decode()


def actions_of_the_admin() -> Iterator[str]:
    """Yield each admin model's actions, with the confirmation page for the first row."""
    from django.contrib import admin
    from django.urls import reverse

    from common.admin.model_admin import ServiceAdmin
    from common.ports import panels

    browser = client()
    for model, model_admin in sorted(admin.site._registry.items(), key=lambda pair: pair[0]._meta.label):
        if not isinstance(model_admin, ServiceAdmin):
            continue
        yield f"=== {model._meta.label}"
        row = model._default_manager.order_by("pk").first()
        for action in (*model_admin.own_actions, *panels.added(model_admin.label, panels.Action)):
            yield f"--- {action.name}: {action.title} ({action.permission})"
            if row is None or not (action.form or action.confirm):
                continue
            options = model._meta
            url = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
            answer = browser.post(url, {"action": action.name, "_selected_action": [str(row.pk)]})
            yield words_of(answer.content.decode()) if answer.status_code == 200 else str(answer.status_code)


def words_of(page: str) -> str:
    """Return the text of the page's main part, one line each."""
    main = re.search(r"<main.*?</main>|<div[^>]*id=\"(?:main|content)\".*", page, re.S)
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", "", main.group() if main else page, flags=re.S)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]+>", "\n", html).splitlines())
    return "\n".join(line for line in lines if line)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    if "FEEDLETTER_DEMO" in os.environ:
        main(target)
    else:
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")
        django.setup()
        sys.exit(in_the_demo(target))
