"""Every admin page opens, with rows and without, and only for staff."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse

from delivery.accounts.dkim_keys import make_key
from tests.examples import some_now
from tests.factories import (
    NOW,
    AssignmentFactory,
    AttemptFactory,
    BounceFactory,
    DeliveryFactory,
    FeedFactory,
    ItemFactory,
    MailboxMessageFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    an_issue,
)

pytestmark = pytest.mark.django_db

# Loads the admin.
_ = get_resolver().url_patterns
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


@pytest.fixture
def rows() -> None:
    """Create rows for every list."""
    FeedFactory(failures=2, last_error="The server answered with an error (HTTP 500).")
    for state in ("unassigned", "excluded", "cleared"):
        ItemFactory(state=state)
    AssignmentFactory()
    issue = an_issue()
    AttemptFactory(delivery=DeliveryFactory(issue=issue, state="failed", last_error="550 5.1.1 No such user"))
    MailboxMessageFactory()
    BounceFactory(held=True)
    BounceFactory(delivery=None, kind="unknown")
    SubscriptionFactory()
    SuppressionFactory()
    for _ in range(2):
        make_key(domain="example.org", algorithm="ed25519", now=NOW)


def address(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_the_list_and_every_objects_page_answer(admin_client: Client, model: Any) -> None:
    assert admin_client.get(address(model, "changelist"), follow=True).status_code == 200
    for row in model._default_manager.all()[:5]:
        assert admin_client.get(address(model, "change", row.pk)).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("model", some_now(MODELS, every=4), ids=lambda model: model._meta.label)
def test_an_empty_list_answers(admin_client: Client, model: Any) -> None:
    assert admin_client.get(address(model, "changelist"), follow=True).status_code == 200


@pytest.mark.slow
def test_every_form_for_a_new_row_has_a_field(admin_client: Client) -> None:
    SubscribableFactory()
    request = admin_client.get(reverse("admin:index")).wsgi_request
    for model in MODELS:
        form = address(model, "add")
        answer = admin_client.get(form, follow=True)
        allowed = admin.site._registry[model].has_add_permission(request)
        assert answer.status_code == (200 if allowed else 403), model
        if allowed and not fields(answer):
            # A mail account's form follows the choice of a provider.
            links = BeautifulSoup(answer.content, "html.parser").select(f"a[href^='{form}?']")
            assert links, model
            assert all(fields(admin_client.get(str(link["href"]))) for link in links)


def fields(answer: Any) -> set[str]:
    """Return the names of the fields that a person sees."""
    seen = "#main form :is(input:not([type=hidden], [type=submit]), select, textarea)[name]"
    return {str(field["name"]) for field in BeautifulSoup(answer.content, "html.parser").select(seen)}


def test_a_user_who_is_added_can_sign_in_to_the_admin(admin_client: Client, client: Client) -> None:
    password = "correct horse battery staple"
    given = {
        "username": "bo",
        "email": "bo@example.org",
        "usable_password": "true",
        "password1": password,
        "password2": password,
        "is_staff": "on",
    }
    assert fields(admin_client.get(address(User, "add"))) == set(given)
    asked = admin_client.post(address(User, "add"), given)
    answer = admin_client.post(asked["Location"], {"password": "password"})
    assert answer["Location"] == address(User, "change", User.objects.get(username="bo").pk)
    client.post(reverse("account_login"), {"login": "bo", "password": password})
    assert client.get(reverse("admin:index")).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_strangers_are_sent_to_the_login(client: Client, model: Any) -> None:
    answer = client.get(address(model, "changelist"))
    assert answer.status_code == 302
    assert "/admin/login/" in answer["Location"]


def test_the_first_page_offers_the_first_step(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert reverse("admin:feeds_feed_add") in page
    assert "Add a feed" in page


@pytest.mark.usefixtures("rows")
def test_the_first_page_says_what_needs_a_person(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert "can’t be read" in page
