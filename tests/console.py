"""Runs commands as a script would: what they print, what JSON they give, what they refuse."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


def printed(*words: str) -> str:
    """What the command prints for people."""
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def json_of(*words: str) -> Any:
    """The JSON document of the command."""
    return json.loads(printed(*words, "--json"))


def refused(*words: str) -> str:
    """The sentence with which the command refuses."""
    with pytest.raises(CommandError) as caught:
        printed(*words)
    said = str(caught.value)
    assert "\n" not in said
    return said
