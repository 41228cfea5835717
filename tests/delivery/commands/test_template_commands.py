"""Commands for a newsletter's own templates.

`set_theme`: sets and shows a newsletter's look.
"""

from email import message_from_string
from pathlib import Path

import pytest

from delivery.customisation import current
from delivery.models import Theme
from delivery.rendering.engine import usual_source
from tests.console import json_of, printed, refused
from tests.delivery.own_letters import a_read_feed, saved
from tests.factories import BridgeFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def html(tmp_path: Path) -> str:
    file = tmp_path / "letter.html"
    file.write_text("<p>Dear %toNickname%</p>")
    return str(file)


def test_a_template_is_set_listed_shown_and_reset(html: str) -> None:
    newsletter = SubscribableFactory(name="weekly")
    made = json_of(
        "set_template", "weekly", "digest", "--html-file", html, "--subject", "{{ title }}", "--note", "Hm"
    )
    assert (made["template"], made["version"], made["note"]) == ("issues/digest", 1, "Hm")
    row = current(newsletter, "issues/digest")
    assert row is not None
    # Omitted parts are unchanged.
    assert (row.html, row.subject, row.text) == (
        "<p>Dear %toNickname%</p>",
        "{{ title }}",
        usual_source("issues/digest").text,
    )
    listed = {one["template"]: one["version"] for one in json_of("list_templates", "weekly")}
    assert listed["issues/digest"] == 1
    assert listed["mails/welcome"] == 0
    assert printed("show_template", "weekly", "digest") == "<p>Dear %toNickname%</p>\n"
    assert printed("show_template", "weekly", "digest", "--default").startswith("{% extends")
    assert json_of("reset_template", "weekly", "digest")["version"] == 0
    assert current(newsletter, "issues/digest") is None
    assert json_of("reset_template", "weekly", "digest", "--to", "1")["version"] == 2


def test_what_show_prints_can_be_set_again(tmp_path: Path) -> None:
    SubscribableFactory(name="weekly")
    file = tmp_path / "page.html"
    file.write_text(printed("show_template", "weekly", "pages/issue"))
    assert json_of("set_template", "weekly", "issue", "--html-file", str(file))["version"] == 1


def test_what_cannot_be_is_refused_in_one_sentence(tmp_path: Path, html: str) -> None:
    SubscribableFactory(name="weekly")
    wrong = tmp_path / "wrong.html"
    wrong.write_text("x\n{% nope %}")
    said = refused("set_template", "weekly", "digest", "--html-file", str(wrong))
    assert said == "--html-file: Line 2: there is no tag “nope” here."
    assert "--html-file" in refused("set_template", "weekly", "digest")
    assert "cannot be read" in refused(
        "set_template", "weekly", "digest", "--html-file", str(tmp_path / "none")
    )
    assert "There is no template “nope”" in refused("set_template", "weekly", "nope", "--html-file", html)
    assert "neither" in refused(
        "set_template", "weekly", "pages/issue", "--html-file", html, "--subject", "x"
    )
    assert "There is no version 7" in refused("reset_template", "weekly", "digest", "--to", "7")


def test_a_letter_is_previewed_as_html_text_and_source() -> None:
    newsletter = SubscribableFactory(name="each", feeds=[a_read_feed()])
    assert "<html" in printed("preview_letter", "each")
    assert "Post 0" in printed("preview_letter", "each", "--text")
    raw = message_from_string(printed("preview_letter", "each", "--raw"))
    assert "ada@example.org" in raw["To"]
    reader = SubscriptionFactory(subscribable=newsletter, display_name="Zoe")
    saved(newsletter, "mails/welcome", "Welcome %toNickname%")
    shown = printed("preview_letter", "each", "--template", "welcome", "--as", reader.destination.label)
    assert "Welcome Zoe" in shown
    assert json_of("preview_letter", "each")["template"] == "issues/post"


def test_a_preview_that_cannot_be_says_why() -> None:
    SubscribableFactory(name="weekly")
    BridgeFactory(name="bridge")
    assert "does not subscribe" in refused("preview_letter", "weekly", "--as", "nobody@example.org")
    assert "bridge" in refused("preview_letter", "bridge")
    assert "html only" in refused("preview_letter", "weekly", "--template", "pages/issue", "--raw")


def test_it_sets_what_is_given_and_shows_all() -> None:
    SubscribableFactory(name="valley")
    shown = json_of("set_theme", "valley", "--accent", "#7a3b9d", "--logo-url", "https://e.org/l.png")
    assert shown["accent"] == "#7a3b9d"
    shown = json_of("set_theme", "valley", "--logo-width", "80", "--subject", "{newsletter}: {title}")
    assert json_of("set_theme", "valley") == shown
    assert (shown["accent"], shown["logo_width"], shown["subject"]) == (
        "#7a3b9d",
        80,
        "{newsletter}: {title}",
    )
    assert "#7a3b9d" in printed("set_theme", "valley")


def test_to_look_writes_nothing() -> None:
    SubscribableFactory(name="valley")
    assert json_of("set_theme", "valley")["accent"] == ""
    assert not Theme.objects.exists()


def test_an_empty_text_and_usual_go_back() -> None:
    SubscribableFactory(name="valley")
    json_of("set_theme", "valley", "--accent", "#7a3b9d", "--footer", "f")
    assert json_of("set_theme", "valley", "--accent", "")["accent"] == ""
    assert json_of("set_theme", "valley", "--usual")["footer"] == ""
    assert not Theme.objects.exists()


def test_mistakes_are_one_sentence() -> None:
    SubscribableFactory(name="valley")
    assert refused("set_theme", "valley", "--subject", "{nope}").startswith("--subject: There is no {nope}.")
    assert "--accent" in refused("set_theme", "valley", "--accent", "red")
    assert "no other option" in refused("set_theme", "valley", "--usual", "--accent", "#7a3b9d")
    assert "There is no newsletter" in refused("set_theme", "nope")
