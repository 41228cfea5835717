"""The accent of a newsletter's pages."""

import re

import pytest
from django.test import Client

from delivery.customisation import set_theme
from subscriptions.rules.colours import contrast
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db


def test_pages_wear_the_accent_made_readable(client: Client) -> None:
    newsletter = SubscribableFactory(name="valley")
    set_theme(subscribable=newsletter, accent="#ffd400")
    assert 'href="/s/valley/look.css"' in client.get("/s/valley/").content.decode()
    answer = client.get("/s/valley/look.css")
    assert answer.headers["Content-Type"].startswith("text/css")
    day, night = (
        dict(re.findall(r"--([\w-]+): (#\w+)", part)) for part in answer.content.decode().split("@media")
    )
    assert contrast(day["accent"], day["tint"]) >= 4.5
    assert contrast(night["accent"], night["tint"]) >= 4.5
    assert night["accent"] == "#ffd400"


def test_the_parameter_counts_where_no_theme_does_and_nonsense_never(client: Client) -> None:
    SubscribableFactory(name="one", params={"accent": "#7a3b9d"})
    SubscribableFactory(name="two", params={"accent": "red;}body{display:none"})
    SubscribableFactory(name="three")
    assert "#7a3b9d" in client.get("/s/one/look.css").content.decode()
    assert "display" not in client.get("/s/two/look.css").content.decode()
    assert client.get("/s/three/look.css").content == b""


def test_a_private_newsletter_has_no_pages_and_no_look(client: Client) -> None:
    SubscribableFactory(name="valley", visibility="private")
    assert client.get("/s/valley/look.css").status_code == 404


def test_a_background_of_its_own_gives_the_page_its_ground(client: Client) -> None:
    newsletter = SubscribableFactory(name="valley")
    set_theme(subscribable=newsletter, background="#f2e6c9")
    day, night = client.get("/s/valley/look.css").content.decode().split("@media")
    assert "--ground: #f2e6c9" in day
    assert "#f2e6c9" not in night
