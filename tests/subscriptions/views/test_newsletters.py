"""The public list."""

from typing import Any

import pytest
from django.test import Client

from delivery.customisation import set_theme
from subscriptions.models import Consent, Notice, Subscription
from subscriptions.rules.sign_up import MOST_CHOSEN_AT_ONCE
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
    assert "There are no newsletters yet" in page


def test_the_list_asks_the_database_the_same_however_long_it_is(
    client: Client, django_assert_num_queries: Any
) -> None:
    SubscribableFactory.create_batch(5)
    # Their number, the rows, their looks, and the site's settings.
    with django_assert_num_queries(4):
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


def test_many_are_searched_by_the_words_about_them(client: Client) -> None:
    SubscribableFactory.create_batch(12)
    assert 'type="search"' not in client.get("/").content.decode()
    SubscribableFactory(title="Engines", description="About steam.")
    assert 'type="search"' in client.get("/").content.decode()
    for words in ("steam", "ENGINES about", " engines "):
        found = client.get("/", {"q": words}).content.decode()
        assert found.count('<li class="card') == 1, words
    for words in ("nothing like it", "\x00", "<b>", "%" * 5000):
        page = client.get("/", {"q": words}).content.decode()
        assert "<b>" not in page
    assert "No newsletter matches your search" in client.get("/", {"q": "zeppelin"}).content.decode()


def test_a_long_list_comes_in_pages(client: Client) -> None:
    SubscribableFactory.create_batch(61)
    assert client.get("/").content.decode().count('<li class="card') == 60
    assert client.get("/?page=2").content.decode().count('<li class="card') == 1


def test_a_look_of_its_own_is_shown(client: Client) -> None:
    letter = SubscribableFactory(title="Engines")
    set_theme(subscribable=letter, accent="#1f5f8b", logo_url="https://letters.example/logo.png")
    SubscribableFactory(params={"accent": 'red"><script>'})
    page = client.get("/").content.decode()
    assert 'fill="#1f5f8b"' in page
    assert 'src="https://letters.example/logo.png"' in page
    assert "<script" not in page


def test_several_are_asked_for_at_once_with_one_mail() -> None:
    one, two = SubscribableFactory(name="one", title="One"), SubscribableFactory(name="two", title="Two")
    SubscribableFactory(name="three", title="Three")
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/", {"email": "ada@example.org", "newsletter": ["one", "two"]}, follow=True)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "Check your email" in page
    assert ("One" in page, "Two" in page, "Three" in page) == (True, True, False)
    assert set(Subscription.objects.values_list("subscribable", flat=True)) == {one.pk, two.pk}
    assert Notice.objects.count() == 1
    assert set(Consent.objects.values_list("how", flat=True)) == {"directory"}


@pytest.mark.parametrize("chosen", [[], ["hidden"], ["closed"], ["nope", "\x00"]])
def test_who_chooses_nothing_that_is_there_is_asked_again(client: Client, chosen: list[str]) -> None:
    SubscribableFactory.create_batch(2)
    SubscribableFactory(name="hidden", visibility="unlisted")
    SubscribableFactory(name="closed", sign_up="closed")
    answer = client.post("/", {"email": "ada@example.org", "newsletter": chosen}, follow=True)
    assert answer.status_code == 400
    assert "Choose at least one newsletter" in answer.content.decode()
    assert 'value="ada@example.org"' in answer.content.decode()
    assert not Subscription.objects.exists()


def test_a_mistake_keeps_what_was_chosen(client: Client) -> None:
    SubscribableFactory(name="one")
    SubscribableFactory(name="two")
    page = client.post("/", {"email": "ada@", "newsletter": "two"}).content.decode()
    assert 'value="two" checked' in page
    assert 'value="one" checked' not in page
    assert "Please look again" in page


def test_more_at_once_than_fit_into_a_mail_are_refused(client: Client) -> None:
    rows = SubscribableFactory.create_batch(MOST_CHOSEN_AT_ONCE + 1)
    answer = client.post("/", {"email": "ada@example.org", "newsletter": [row.name for row in rows]})
    assert answer.status_code == 400
    assert f"Choose at most {MOST_CHOSEN_AT_ONCE}" in answer.content.decode()
    assert not Subscription.objects.exists()


def test_a_slip_in_the_address_is_asked_about_and_blocks_nothing(client: Client) -> None:
    SubscribableFactory(name="weekly")
    page = client.post("/s/weekly/", {"email": "Ada@gmial.com"}, follow=True).content.decode()
    assert "<bdi>Ada@gmial.com</bdi>" in page
    assert "Did you mean <strong><bdi>Ada@gmail.com</bdi></strong>?" in page
    assert 'value="Ada@gmail.com"' in page
    assert Subscription.objects.get().destination.core == "ada@gmial.com"


def test_the_directory_leads_subscribers_to_their_page(client: Client) -> None:
    SubscribableFactory()
    assert "Already subscribed?" in client.get("/").content.decode()


def test_a_directory_of_one_newsletter_has_its_form(client: Client) -> None:
    SubscribableFactory(name="weekly", title="The Weekly")
    page = client.get("/").content.decode()
    assert '<input type="hidden" name="newsletter" value="weekly">' in page
    assert 'name="email"' in page
    assert "Choose" not in page
    client.post("/", {"newsletter": "weekly", "email": "ada@example.org"})
    assert Subscription.objects.get().subscribable.name == "weekly"


def test_the_only_open_newsletter_is_chosen_already(client: Client) -> None:
    SubscribableFactory(name="weekly")
    SubscribableFactory(name="closed", sign_up="closed")
    assert 'value="weekly" checked' in client.get("/").content.decode()
