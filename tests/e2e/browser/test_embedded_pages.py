"""The form for other sites, and the pages at upstream's URLs."""

import hashlib
from typing import Any

import pytest
from django.utils import timezone

from tests.e2e.browser.screens import look_at
from tests.factories import SubscribableFactory, SubscriptionFactory, UnconfirmedFactory

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SALT = "pepper"


def link(act: str, number: int) -> str:
    octets = number.to_bytes(8, "big") + SALT.encode() + f"{act.capitalize()}Suffix".encode()
    return f"/v0/subscription/{act}?subscriptionId={number}&invitation={hashlib.sha3_256(octets).hexdigest()}"


def test_the_embedded_form(page: Any, site: str) -> None:
    SubscribableFactory(name="weekly", title="Cedar Weekly")
    page.goto(f"{site}/s/weekly/embed/")
    look_at(page, "embed")
    page.get_by_label("Your email address").fill("ada@localhost")
    page.get_by_role("button").click()
    page.locator(".error").wait_for()
    look_at(page, "embed-error")
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button").click()
    page.get_by_role("status").wait_for()
    look_at(page, "embed-done")
    page.get_by_role("link", name="Use another address").click()
    assert page.get_by_label("Your email address").input_value() == ""


def test_a_closed_newsletter_in_a_frame(page: Any, site: str) -> None:
    SubscribableFactory(name="weekly", sign_up="closed")
    page.goto(f"{site}/s/weekly/embed/")
    look_at(page, "embed-closed")


def test_old_links_and_forms(page: Any, site: str, settings: Any) -> None:
    settings.UPSTREAM_SALT = SALT
    letter = SubscribableFactory(name="weekly", title="Cedar Weekly")
    SubscriptionFactory(upstream_id=42, subscribable=letter)
    UnconfirmedFactory(upstream_id=43, subscribable=letter, added_at=timezone.now(), confirm_nonce="")
    form = "/v0/subscription/create?subscribableName=weekly&addressPart=ada@example.org&displayNamePart=Ada"
    for name, path in {
        "v0-create": form,
        "v0-refused": "/v0/subscription/create",
        "v0-confirm": link("confirm", 43),
        "v0-remove": link("remove", 42),
        "v0-gone": link("remove", 44),
    }.items():
        page.goto(site + path)
        look_at(page, name)
    settings.UPSTREAM_SALT = ""
    page.goto(site + link("remove", 42))
    look_at(page, "v0-uncheckable")
    page.goto(site + form)
    page.get_by_role("button", name="Subscribe to Cedar Weekly").click()
    page.get_by_role("heading", name="Check your email").wait_for()


def test_an_old_link_leads_all_the_way(page: Any, site: str, settings: Any) -> None:
    settings.UPSTREAM_SALT = SALT
    leaves = SubscriptionFactory(upstream_id=42, subscribable__title="Cedar Weekly")
    page.goto(site + link("remove", 42))
    page.get_by_role("button", name="Unsubscribe from Cedar Weekly").click()
    page.get_by_role("heading", name="You’re unsubscribed").wait_for()
    leaves.refresh_from_db()
    assert leaves.status == "unsubscribed"
    comes = UnconfirmedFactory(upstream_id=43, added_at=timezone.now(), confirm_nonce="")
    page.goto(site + link("confirm", 43))
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("heading", name="You’re subscribed").wait_for()
    comes.refresh_from_db()
    assert comes.status == "confirmed"
