"""The result of a form has a URL of its own, where it can be reloaded."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from feedletter_site import kept_answers
from feedletter_site.models import ApiToken
from tests.e2e.browser.every_page import admin_pages, fill

pytestmark = pytest.mark.django_db
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def send(client: Client, address: str, **fields: Any) -> Any:
    """Submit a form as a browser does."""
    return client.post(address, fields, headers={"accept": BROWSER})


@pytest.mark.long
def test_no_page_of_the_admin_answers_a_form_by_itself(admin_client: Client) -> None:
    fill()
    again = 0
    for name, address in list(admin_pages()):
        answer = send(admin_client, address)
        assert answer.status_code in (302, 403, 404, 405), name
        if answer.status_code == 302 and "answer=" in answer["Location"]:
            again += 1
            first, second = (admin_client.get(answer["Location"]) for _ in range(2))
            assert first.content == second.content, name
            assert b"<main" in first.content, name
    # Forms with errors, and confirmation pages.
    assert again > 20


def test_what_was_typed_stands_in_the_page(admin_client: Client) -> None:
    where = send(admin_client, reverse("admin:feeds_feed_add"), url="no address", step="find")["Location"]
    page = admin_client.get(where).content.decode()
    assert 'value="no address"' in page
    # The form posts to the page's URL, whose token no view sees.
    again = send(admin_client, where, url="nor this", step="find")["Location"]
    assert len(parse_qs(urlsplit(again).query)["answer"]) == 1
    assert 'value="nor this"' in admin_client.get(again).content.decode()


def test_a_list_knows_nothing_of_the_token(admin_client: Client) -> None:
    url = reverse("admin:feeds_feed_changelist")
    assert admin_client.get(f"{url}?answer=long-gone").status_code == 200


def test_the_page_is_of_the_session_that_sent_the_form(admin_client: Client, django_user_model: Any) -> None:
    where = send(admin_client, reverse("admin:feeds_feed_add"), url="my secret", step="find")["Location"]
    other = Client()
    other.force_login(django_user_model.objects.create_superuser("eve", "eve@example.org", "x"))
    assert b"my secret" not in other.get(where).content
    stored = str(dict(admin_client.session)[kept_answers.KEY])
    assert "my secret" not in stored


def test_few_are_kept(admin_client: Client) -> None:
    for _ in range(kept_answers.MOST + 2):
        send(admin_client, reverse("admin:feeds_feed_add"), url="x", step="find")
    assert len(admin_client.session[kept_answers.KEY]) == kept_answers.MOST


def test_a_tokens_key_is_shown_once(admin_client: Client) -> None:
    url = reverse("admin:feedletter_site_apitoken_add")
    answer = send(admin_client, url, name="For a script", scopes="feeds:read", lifetime="30")
    assert answer.status_code == 200
    assert f"fl_{ApiToken.objects.get().prefix}" in answer.content.decode()
    assert kept_answers.KEY not in admin_client.session


def test_a_script_gets_its_answer_at_once(admin_client: Client) -> None:
    answer = admin_client.post(reverse("admin:feeds_feed_add"), {"url": "x"}, headers={"accept": "*/*"})
    assert answer.status_code == 200
