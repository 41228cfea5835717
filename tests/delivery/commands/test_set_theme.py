"""`set_theme`: sets and shows a newsletter's look."""

import pytest

from delivery.models import Theme
from tests.console import json_of, printed, refused
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db


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
