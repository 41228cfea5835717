"""Labels and messages that pages quote are the program's."""

import re
from functools import cache
from pathlib import Path

import pytest

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
