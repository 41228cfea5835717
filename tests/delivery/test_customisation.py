"""A newsletter's look: validated when saved, saved completely or not at all, used by letters."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from delivery.customisation import back_to_usual, set_theme, theme_of
from delivery.models import Theme
from delivery.rendering.facts import USUAL_THEME, ThemeFacts
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db


def test_a_newsletter_without_a_theme_has_the_usual_look() -> None:
    assert theme_of(SubscribableFactory()) == theme_of(None) == USUAL_THEME


def test_what_is_given_changes_and_the_rest_stays() -> None:
    newsletter, other = SubscribableFactory(), SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d", footer="Made by hand.")
    set_theme(subscribable=newsletter, accent="#b3261e")
    assert theme_of(newsletter) == ThemeFacts(accent="#b3261e", footer="Made by hand.")
    assert theme_of(other) == USUAL_THEME


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accent", "red"),
        ("accent", "#fff"),
        ("accent", "#ffffff;x"),
        ("background", "#gggggg"),
        ("logo_url", "ftp://e.org/x.png"),
        ("logo_url", "javascript:alert(1)"),
        ("logo_url", "logo.png"),
        ("logo_url", "https://e.org/logo.svg"),
        ("header_picture_url", "https://e.org/logo.SVG?x=1"),
        ("logo_width", 0),
        ("logo_width", 553),
        ("subject", "{nope}"),
        ("subject", "x" * 201),
        ("header", "x" * 2001),
        ("footer", "x" * 2001),
        ("postal_address", "x" * 2001),
    ],
)
def test_what_no_letter_could_show_is_refused_at_its_field(field: str, value: Any) -> None:
    newsletter = SubscribableFactory()
    with pytest.raises(ValidationError) as refused:
        set_theme(subscribable=newsletter, **{"footer": "kept?", field: value})
    assert field in refused.value.message_dict
    assert not Theme.objects.exists()


def test_the_usual_look_comes_back() -> None:
    newsletter = SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    assert back_to_usual(subscribables=[newsletter.pk]) == 1
    assert back_to_usual(subscribables=[newsletter.pk]) == 0
    assert theme_of(newsletter) == USUAL_THEME
