"""The public list."""

import pytest
from django.test import Client

from tests.factories import BridgeFactory, SubscribableFactory

pytestmark = pytest.mark.django_db


def test_the_list_shows_public_newsletters_with_their_rhythm(client: Client) -> None:
    SubscribableFactory(title="Example Weekly", name="weekly", arrangement="weekly", at="07:00")
    page = client.get("/").content.decode()
    assert "Example Weekly" in page
    assert "/s/weekly/" in page
    assert "Every Monday at 7:00" in page


def test_the_list_leaves_out_what_is_not_for_everyone(client: Client) -> None:
    SubscribableFactory(title="Unlisted", visibility="unlisted")
    SubscribableFactory(title="Private", visibility="private")
    SubscribableFactory(title="Stopped", stopped=True)
    BridgeFactory(title="Bridge")
    page = client.get("/").content.decode()
    assert not [title for title in ("Unlisted", "Private", "Stopped", "Bridge") if f">{title}<" in page]
    assert "no newsletters to subscribe to yet" in page


def test_the_list_asks_the_database_once(client: Client, django_assert_num_queries: object) -> None:
    SubscribableFactory.create_batch(5)
    with django_assert_num_queries(1):  # type: ignore[operator]
        client.get("/")


def test_titles_are_escaped_and_no_cookie_is_set(client: Client) -> None:
    SubscribableFactory(title="<b>bold</b>", description="<i>it</i>")
    answer = client.get("/")
    assert "<b>bold" not in answer.content.decode()
    assert "<i>it" not in answer.content.decode()
    assert not answer.cookies
    assert "Cookie" not in answer.get("Vary", "")


def test_an_address_that_is_not_there_gets_a_friendly_page(client: Client) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()
