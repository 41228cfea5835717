"""Pages name only existing commands, options, addresses and pages, and their blocks of code are valid."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from django.core.management import CommandError, get_commands
from django.urls import resolve

from common.cli.registry import LazyCommand
from delivery.issues.publish import LATEST_RELEASE
from feedletter_site.admin_look import MENU, SETTINGS_CARDS
from tests.console import command_named

ROOT = Path(__file__).parent.parent.parent
OURS = {path.parent.parent.parent.name for path in ROOT.glob("*/management/commands/*.py")}
COMMANDS = sorted(name for name, app in get_commands().items() if isinstance(app, LazyCommand) or app in OURS)
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [*sorted(DOCS.glob("**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
}
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$|^((?: {4}[^\n]*\n)+)", re.M | re.S)
MAKE_TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
DATE = re.compile(r"\$\((date [^)]*)\)")


@pytest.mark.needs("reader")
@pytest.mark.parametrize("page", PAGES)
def test_no_page_names_a_command_that_there_is_not(page: str) -> None:
    text = PAGES[page]
    named = set(re.findall(r"manage\.py ([a-z][a-z_]+)", text))
    assert named <= get_commands().keys()


@pytest.mark.parametrize("page", PAGES)
def test_no_page_gives_a_command_an_option_that_it_does_not_have(page: str) -> None:
    text = PAGES[page]
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


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Yield the language and text of each block of code, fenced or indented, with continued lines joined."""
    for language, fenced, indented in re.findall(BLOCK, PAGES[page]):
        yield language, DATE.sub(made_by_the_shell, re.sub(r"\\\n\s*", " ", fenced or indented))


def made_by_the_shell(date: re.Match[str]) -> str:
    return subprocess.run(["sh", "-c", date[1]], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("page", PAGES)
def test_each_command_of_a_block_takes_its_arguments(page: str) -> None:
    refused = []
    for line in (line for _, block in blocks(page) for line in block.splitlines()):
        words = re.sub(r"\$\(.*?\)|[\[\]]", "", line).replace(" ID", " 3").replace("SOURCE", "rss2email")
        for name, rest in re.findall(r"""manage\.py ([a-z_]+)((?:"[^"]*"|'[^']*'|[^|><#;&"'])*)""", words):
            try:
                command_named(name).create_parser("manage.py", name).parse_args(shlex.split(rest))
            except CommandError as error:
                if "cannot be read" not in str(error):
                    refused.append(f"{line}: {error}")
    assert not refused


@pytest.mark.parametrize("page", [page for page in PAGES if any(kind == "sh" for kind, _ in blocks(page))])
def test_each_block_of_commands_is_valid_shell(page: str) -> None:
    for block in (text for kind, text in blocks(page) if kind == "sh"):
        checked = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert not checked.stderr, block


@pytest.mark.parametrize("page", PAGES)
def test_each_request_of_a_block_is_for_an_existing_address_with_valid_json(page: str) -> None:
    for request in re.findall(r"^(?:curl|api) .*", "\n".join(text for _, text in blocks(page)), re.M):
        for path in re.findall(r"http://127\.0\.0\.1:8000(/[^\s?\"]*)", request):
            resolve(path)
    bodies = re.findall(
        r"""-d (?:'([^']*)'|"((?:[^"\\]|\\.)*)")""", "\n".join(text for _, text in blocks(page))
    )
    for plain, escaped in bodies:
        json.loads(plain or escaped.replace("\\", ""))


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/reference/")])
def test_each_time_of_sending_in_a_block_is_one_that_is_accepted(page: str) -> None:
    now = datetime.now(UTC)
    text = "\n".join(text for _, text in blocks(page)).replace("\\", "")
    for moment in re.findall(r"""(?:--at |"at": ")(\d{4}-[^\s"]+)""", text):
        assert now < datetime.fromisoformat(moment) < now + LATEST_RELEASE, moment


@pytest.mark.parametrize("page", PAGES)
def test_no_page_makes_a_target_that_there_is_not(page: str) -> None:
    made = re.findall(r"(?:^ *|`)make ([a-z]+)", PAGES[page], re.M)
    assert set(made) <= MAKE_TARGETS


@pytest.mark.parametrize("page", PAGES)
def test_no_page_leads_to_an_entry_of_the_menu_that_there_is_not(page: str) -> None:
    text = PAGES[page]
    titles = tuple(str(page["title"]) for entry in (*MENU, *SETTINGS_CARDS) for page in entry["pages"])
    led = re.findall(r"Admin → (?:Settings → )?([^,.:;)]+)", text)
    assert [words for words in led if not words.startswith(titles)] == []
