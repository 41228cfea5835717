"""The site's settings: changed completely or not at all, and used by every page at once."""

import io
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from common.pictures.codec import clean_picture
from subscriptions.branding.brands import alter_site, site_facts
from subscriptions.models import Picture, SiteSettings
from tests.factories import SubscribableFactory
from tests.pictures import drawn, octets_of

pytestmark = pytest.mark.django_db
HARBOUR = {
    "name": "Harbour News",
    "about": "What the water brings.",
    "accent": "#0b6e4f",
    "imprint_url": "https://harbour.example/imprint",
    "privacy_url": "https://harbour.example/privacy",
}


def a_logo() -> Any:
    return clean_picture(io.BytesIO(octets_of(drawn(400, 80))))


def test_a_site_that_nobody_named_has_the_usual_look(client: Client) -> None:
    facts = site_facts()
    assert (facts.name, facts.is_named, facts.has_foot) == ("Feedletter", False, False)
    page = client.get("/").content.decode()
    assert "<h1>Newsletters</h1>" in page
    assert "whose" not in page
    assert "/look.css" not in page


def test_what_is_given_changes_and_the_rest_stays() -> None:
    alter_site(**HARBOUR)
    alter_site(about="Every week.", logo=a_logo())
    facts = site_facts()
    assert (facts.name, facts.about, facts.accent) == ("Harbour News", "Every week.", "#0b6e4f")
    assert (facts.logo_width, facts.logo_height) == (200, 40)
    alter_site(logo=None)
    assert site_facts().logo_url == ""
    # Mails already sent still show it.
    assert Picture.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accent", "green"),
        ("accent", "#fff;}"),
        ("imprint_url", "javascript:alert(1)"),
        ("imprint_url", "ftp://harbour.example/"),
        ("privacy_url", "privacy"),
        ("name", "x" * 101),
        ("about", "x" * 301),
    ],
)
def test_what_cannot_be_shown_is_refused_at_its_field(field: str, value: str) -> None:
    with pytest.raises(ValidationError) as refused:
        alter_site(**{"about": "kept?", field: value})
    assert field in refused.value.message_dict
    assert not SiteSettings.objects.exists()


def test_the_public_list_wears_it(client: Client) -> None:
    alter_site(**HARBOUR, logo=a_logo())
    page = client.get("/").content.decode()
    assert "<title>Harbour News</title>" in page
    assert "<h1>Harbour News</h1>" in page
    assert "What the water brings." in page
    assert 'href="https://harbour.example/imprint">Imprint</a>' in page
    assert 'href="https://harbour.example/privacy">Privacy</a>' in page
    assert site_facts().logo_url in page
    assert "--accent: #0b6e4f" in client.get("/look.css").content.decode()


def test_a_logo_that_says_the_name_stands_in_its_place(client: Client) -> None:
    alter_site(**HARBOUR, logo=a_logo(), logo_says_name=True)
    page = client.get("/").content.decode()
    assert "<h1>Harbour News</h1>" not in page
    assert 'alt="Harbour News"></h1>' in page


@pytest.mark.parametrize(
    "path", ["/sign-in/", "/s/valley/", "/s/valley/archive/", "/confirm/x/", "/nowhere/"]
)
def test_every_page_says_whose_it_is(client: Client, path: str) -> None:
    SubscribableFactory(name="valley")
    alter_site(**HARBOUR)
    page = client.get(path).content.decode()
    assert "Harbour News</a>" in page
    assert "Imprint" in page
    assert 'href="/look.css"' in page


def test_a_name_is_text_wherever_it_stands(client: Client) -> None:
    alter_site(name='<script>"x"</script>', about="<b>")
    page = client.get("/").content.decode()
    assert "<script>" not in page
    assert "<b>" not in page


def test_the_newsletters_own_accent_wins_and_without_one_it_has_the_sites(client: Client) -> None:
    SubscribableFactory(name="own", params={"accent": "#7a3b9d"})
    SubscribableFactory(name="plain")
    alter_site(**HARBOUR)
    assert "--accent: #7a3b9d" in client.get("/s/own/look.css").content.decode()
    assert "--accent: #0b6e4f" in client.get("/s/plain/look.css").content.decode()
