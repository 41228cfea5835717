"""Labels and messages that pages quote are the program's.

README is short, and its first screen says what to type.
The recipes of docs/api.md are carried out, with the requests that a shell makes of them.
Pages name only existing commands, options, addresses and pages, and their blocks of code are valid.
Links between pages of the documentation lead to existing pages and headings.
docs/reference/ matches the code.
"""

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
from delivery.models import Broadcast
from feedletter_site.admin_look import MENU, SETTINGS_CARDS
from feedletter_site.env import declared
from tests.api import Api
from tests.console import command_named
from tests.documentation.reference import FOLDER, pages
from tests.examples import some_now
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory

REFERENCE_PAGES = (
    "settings.md",
    "commands.md",
    "metrics.md",
    "mail-services.md",
    "api.md",
    "webhooks.md",
    "templates.md",
)
PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
# Prints the words of each call.
API = "api() { printf '%s\\0' \"$@\"; printf '\\1'; }\n"
ROOT = Path(__file__).parents[2]
PACKAGES = (
    "common", "migrate_from", "feeds", "subscriptions", "channels", "delivery", "reader", "fediverse",
    "chat", "feedletter_site", "templates",
)  # fmt: skip
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    # The others are about other programs, or generated.
    if not {"reference", "coming-from", "leaving.md"} & set(path.parts)
]
# Pages on which bold words are labels to click.
CLICKED = ("tutorial.md", "reader.md", "discord-servers.md", "discord-bot.md")
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|^ {4}(?! *\*).*$|!\[[^\]]*\]", re.M | re.S)
QUOTED = re.compile(r"“([^”\n]+)”|(?<![\w*])\*([A-Z][^*\n]+)\*(?![\w*])")
BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
# Of other programs, of posts in examples, and terms that a page explains.
OTHERS = {
    "Discord": "Reset token, URL generator, View channels, Read message history, Copy link, Bot, Public Bot, "
    "Interactions Endpoint URL, Install Link, Requires OAuth2 Code Grant, Privileged Gateway Intents, "
    "App Verification, Terms of Service URL, Privacy Policy URL, Manage Server, Add Roles or Members, "
    "The application did not respond, General Information, Create Public Threads, Developer mode, "
    "New webhook",
    "services": "Add app password, Your access token, Custom HTML, HTML card, Full (strict), Flexible, "
    "Dashboards, Add to Home Screen, Organization settings, Organization permissions",
    "examples": "First light, Three, and 2 more, A hasty post, An old post, erased 12",
}
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 750
README_PAGES = [ROOT / "README.md", ROOT / "docs" / "comparison.md"]
OURS = {path.parent.parent.parent.name for path in ROOT.glob("*/management/commands/*.py")}
COMMANDS = sorted(name for name, app in get_commands().items() if isinstance(app, LazyCommand) or app in OURS)
DOCS = ROOT / "docs"
COMMAND_PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [*sorted(DOCS.glob("**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
}
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$|^((?: {4}[^\n]*\n)+)", re.M | re.S)
MAKE_TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
DATE = re.compile(r"\$\((date [^)]*)\)")
LINK_PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


@cache
def program() -> str:
    """Return the texts of code and templates on one line, in lower case; joined strings are joined."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*"))
    texts = (path.read_text("utf-8") for path in files if path.suffix in {".py", ".html", ".js", ".txt"})
    return re.sub(r'" f?"', "", plain(" ".join(texts)))


def plain(text: str) -> str:
    return " ".join(text.translate(str.maketrans("’“”", '\'""')).split()).lower()


def quotations(page: Path) -> list[str]:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    quoted = ["".join(match) for match in QUOTED.findall(BOLD.sub(r"\1", text))]
    if page.name in CLICKED:
        quoted += BOLD.findall(text)
    return [part for words in quoted for part in re.split(r" → |, |…|%\w+%|#channel", words)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_quotes_is_what_the_program_says(page: Path) -> None:
    others = {plain(name) for names in OTHERS.values() for name in re.split(r", ?", names)}
    parts = {plain(part).strip(" .,:;!") for part in quotations(page)} - others - {""}
    assert sorted(part for part in parts if part not in program()) == []


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_the_first_screen_is_a_sentence_three_points_the_command_and_a_picture() -> None:
    first = README.partition("\n## ")[0]
    assert len(re.findall(r"^\* ", first, re.MULTILINE)) == 3
    assert first.index("make demo") < first.index("![")


@pytest.mark.parametrize("page", README_PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert linked
    assert [link for link in linked if not (page.parent / link).exists()] == []


def test_compose_starts_without_a_mail_server() -> None:
    """Otherwise EMAIL_URL takes precedence over the admin's email set-up."""
    assert "EMAIL_URL: ${EMAIL_URL:-}\n" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def recipes() -> list[list[str]]:
    section = PAGE.partition("\n## Recipes\n")[2]
    script = API + "\n".join(re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S))
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    return [call.split("\0")[:-1] for call in printed.split("\1")[:-1]]


@pytest.mark.django_db
def test_the_recipes_of_the_api_are_accepted() -> None:
    feed, weekly = FeedFactory(), SubscribableFactory(name="weekly")
    subscription = SubscriptionFactory(subscribable=weekly)
    api = Api()
    refused: list[tuple[str, str, str]] = []
    for *options, url in recipes():
        given = dict(zip(options[::2], options[1::2], strict=True))
        letter = Broadcast.objects.order_by("-pk").values_list("pk", flat=True).first()
        path = url.partition("127.0.0.1:8000")[2].replace(
            "subscriptions/1/", f"subscriptions/{subscription.pk}/"
        )
        body = given.get("-d", "").replace('"feeds": [1]', f'"feeds": [{feed.pk}]')
        answer = api.client.generic(
            given.get("-X", "POST" if body else "GET"),
            path.replace("letters/1/", f"letters/{letter}/"),
            body,
            content_type="application/json",
        )
        if answer.status_code >= 300:
            refused.append((url, body, answer.content.decode()))
    assert refused == []


@pytest.mark.needs("reader")
@pytest.mark.parametrize("page", COMMAND_PAGES)
def test_no_page_names_a_command_that_there_is_not(page: str) -> None:
    text = COMMAND_PAGES[page]
    named = set(re.findall(r"manage\.py ([a-z][a-z_]+)", text))
    assert named <= get_commands().keys()


@pytest.mark.parametrize("page", COMMAND_PAGES)
def test_no_page_gives_a_command_an_option_that_it_does_not_have(page: str) -> None:
    text = COMMAND_PAGES[page]
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
    for language, fenced, indented in re.findall(BLOCK, COMMAND_PAGES[page]):
        yield language, DATE.sub(made_by_the_shell, re.sub(r"\\\n\s*", " ", fenced or indented))


def made_by_the_shell(date: re.Match[str]) -> str:
    return subprocess.run(["sh", "-c", date[1]], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("page", COMMAND_PAGES)
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


@pytest.mark.parametrize(
    "page", [page for page in COMMAND_PAGES if any(kind == "sh" for kind, _ in blocks(page))]
)
def test_each_block_of_commands_is_valid_shell(page: str) -> None:
    for block in (text for kind, text in blocks(page) if kind == "sh"):
        checked = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert not checked.stderr, block


@pytest.mark.parametrize("page", COMMAND_PAGES)
def test_each_request_of_a_block_is_for_an_existing_address_with_valid_json(page: str) -> None:
    for request in re.findall(r"^(?:curl|api) .*", "\n".join(text for _, text in blocks(page)), re.M):
        for path in re.findall(r"http://127\.0\.0\.1:8000(/[^\s?\"]*)", request):
            resolve(path)
    bodies = re.findall(
        r"""-d (?:'([^']*)'|"((?:[^"\\]|\\.)*)")""", "\n".join(text for _, text in blocks(page))
    )
    for plain, escaped in bodies:
        json.loads(plain or escaped.replace("\\", ""))


@pytest.mark.parametrize("page", [page for page in COMMAND_PAGES if not page.startswith("docs/reference/")])
def test_each_time_of_sending_in_a_block_is_one_that_is_accepted(page: str) -> None:
    now = datetime.now(UTC)
    text = "\n".join(text for _, text in blocks(page)).replace("\\", "")
    for moment in re.findall(r"""(?:--at |"at": ")(\d{4}-[^\s"]+)""", text):
        assert now < datetime.fromisoformat(moment) < now + LATEST_RELEASE, moment


@pytest.mark.parametrize("page", COMMAND_PAGES)
def test_no_page_makes_a_target_that_there_is_not(page: str) -> None:
    made = re.findall(r"(?:^ *|`)make ([a-z]+)", COMMAND_PAGES[page], re.M)
    assert set(made) <= MAKE_TARGETS


@pytest.mark.parametrize("page", COMMAND_PAGES)
def test_no_page_leads_to_an_entry_of_the_menu_that_there_is_not(page: str) -> None:
    text = COMMAND_PAGES[page]
    titles = tuple(str(page["title"]) for entry in (*MENU, *SETTINGS_CARDS) for page in entry["pages"])
    led = re.findall(r"Admin → (?:Settings → )?([^,.:;)]+)", text)
    assert [words for words in led if not words.startswith(titles)] == []


@pytest.mark.parametrize("page", some_now(LINK_PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(page))
    for name, _, anchor in (target.partition("#") for target in targets if ":" not in target):
        there = page.parent / name if name else page
        assert there.exists(), name
        assert not anchor or anchor in anchors(there), f"{name}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the headings of a page, as GitHub spells them in URLs."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.needs("reader")
@pytest.mark.parametrize("name", REFERENCE_PAGES)
def test_the_reference_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "run `make reference`"


def test_every_setting_says_what_it_is_for() -> None:
    settings = (ROOT / "feedletter_site" / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    assert read == {name for section in declared.values() for name in section}


def test_the_log_messages_that_a_page_names_are_the_programs() -> None:
    lines = (ROOT / "docs/operating/scale.md").read_text(encoding="utf-8").splitlines()
    named = [text for line in lines for text in re.findall("`([^`]+)`", line.partition(" Log: ")[2])]
    program = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("common", "feedletter_site")
        for path in (ROOT / folder).rglob("*.py")
    )
    assert named
    assert [text for text in named if text.strip(" …0123456789") not in program] == []
