"""Pages name only existing commands, options and pages."""

import re
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands

from common.cli.registry import LazyCommand, command_named
from feedletter_site.admin_look import MENU, SETTINGS_CARDS

ROOT = Path(__file__).parent.parent.parent
OURS = {path.parent.parent.parent.name for path in ROOT.glob("*/management/commands/*.py")}
COMMANDS = sorted(name for name, app in get_commands().items() if isinstance(app, LazyCommand) or app in OURS)
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.glob("**/*.md"))
}


@pytest.mark.needs("reader")
@pytest.mark.parametrize("page", [*PAGES, "../README.md"])
def test_no_page_names_a_command_that_there_is_not(page: str) -> None:
    text = PAGES.get(page) or (DOCS / page).read_text(encoding="utf-8")
    named = set(re.findall(r"manage\.py ([a-z][a-z_]+)", text))
    assert named <= get_commands().keys()


@pytest.mark.parametrize("page", [*PAGES, "../README.md"])
def test_no_page_gives_a_command_an_option_that_it_does_not_have(page: str) -> None:
    text = PAGES.get(page) or (DOCS / page).read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    found = (match for line in lines for match in re.finditer(r"(?:manage\.py |`)([a-z_]+)( [^`|#]*)?", line))
    given = {
        (name, option)
        for name, rest in (match.groups("") for match in found)
        if name in COMMANDS
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)
    }
    assert sorted((name, option) for name, option in given if option not in options_of(name)) == []


@cache
def options_of(command: str) -> set[str]:
    parser = command_named(command).create_parser("manage.py", command)
    return {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("page", [*PAGES, "../README.md"])
def test_no_page_leads_to_an_entry_of_the_menu_that_there_is_not(page: str) -> None:
    text = PAGES.get(page) or (DOCS / page).read_text(encoding="utf-8")
    titles = tuple(str(page["title"]) for entry in (*MENU, *SETTINGS_CARDS) for page in entry["pages"])
    led = re.findall(r"Admin → (?:Settings → )?([^,.:;)]+)", text)
    assert [words for words in led if not words.startswith(titles)] == []
