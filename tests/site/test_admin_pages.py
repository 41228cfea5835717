"""Every admin page opens, with rows and without, and only for staff."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import get_resolver, reverse

from delivery.accounts.dkim_keys import make_key
from tests.factories import (
    NOW,
    AssignmentFactory,
    AttemptFactory,
    BounceFactory,
    DeliveryFactory,
    FeedFactory,
    ItemFactory,
    MailboxMessageFactory,
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
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_an_empty_list_and_the_form_for_a_new_row_answer(admin_client: Client, model: Any) -> None:
    assert admin_client.get(address(model, "changelist"), follow=True).status_code == 200
    allowed = admin.site._registry[model].has_add_permission(
        admin_client.get(reverse("admin:index")).wsgi_request
    )
    # A mail account's form follows the choice of a provider.
    assert admin_client.get(address(model, "add"), follow=True).status_code == (200 if allowed else 403)


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
