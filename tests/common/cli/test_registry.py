import os
import subprocess
import sys

import pytest
from django.core.management import call_command, get_commands

from common.cli.commands import FeedletterCommand
from common.cli.registry import LazyCommand
from tests.console import command_named, json_of

REGISTERED = sorted(name for name, command in get_commands().items() if isinstance(command, LazyCommand))


@pytest.mark.parametrize("name", REGISTERED)
def test_every_registered_command_is_a_class_of_its_module(name: str) -> None:
    assert isinstance(command_named(name), FeedletterCommand)


@pytest.mark.parametrize("name", REGISTERED)
def test_a_command_says_what_it_is_for(name: str) -> None:
    assert command_named(name).help.endswith((".", "!", "”"))


@pytest.mark.slow
def test_django_lists_them_below_their_app() -> None:
    text = subprocess.run(
        [sys.executable, "manage.py", "help"], capture_output=True, text=True, check=True
    ).stdout
    feeds = text.partition("[feeds]\n")[2].partition("\n\n")[0]
    assert "    list_feeds\n" in feeds + "\n"


@pytest.mark.slow
def test_listing_commands_imports_none_and_using_one_no_library_of_pages_letters_and_parsers() -> None:
    code = (
        "import django, sys; django.setup();from django.core.management import get_commands;assert"
        " 'list_feeds' in get_commands();assert 'feeds.management.feeds' not in"
        " sys.modules;get_commands()['list_feeds'].load();needless = {'unfold.admin', 'feedparser',"
        " 'phonenumbers', 'flufl.bounce', 'markdown_it', 'PIL'};assert not needless & {*sys.modules},"
        " needless & {*sys.modules}"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})


@pytest.mark.django_db
def test_django_calls_them_with_options() -> None:
    call_command("list_feeds", limit=1)
    assert json_of("list_feeds") == []
