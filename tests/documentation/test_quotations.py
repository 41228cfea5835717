"""Labels and messages that pages quote are the program's.

README is short, and its first screen says what to type.
The recipes of docs/api.md are carried out, with the requests that a shell makes of them.
"""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from delivery.models import Broadcast
from tests.api import Api
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
# Prints the words of each call.
API = "api() { printf '%s\\0' \"$@\"; printf '\\1'; }\n"
ROOT = Path(__file__).parents[2]
PACKAGES = (
    "common", "migrate_from", "feeds", "subscriptions", "channels", "delivery", "reader", "chat",
    "feedletter_site", "templates",
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
