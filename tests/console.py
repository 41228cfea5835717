"""Commands as called by scripts: output, JSON and errors."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import BaseCommand, call_command, get_commands, load_command_class
from django.core.management.base import CommandError

from common.cli.registry import LazyCommand


def command_named(name: str) -> BaseCommand:
    """Raises KeyError."""
    app = get_commands()[name]
    return app.load() if isinstance(app, LazyCommand) else load_command_class(app, name)


def printed(*words: str) -> str:
    """Return the output for people."""
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def json_of(*words: str) -> Any:
    """Return the command's JSON document."""
    return json.loads(printed(*words, "--json"))


def refused(*words: str) -> str:
    """Return the sentence of the command's error."""
    with pytest.raises(CommandError) as caught:
        printed(*words)
    said = str(caught.value)
    assert "\n" not in said
    return said
