"""The admin in a browser under its Content-Security-Policy: pages work, no inline script runs."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import NoReverseMatch, reverse

from tests.e2e.browser.screens import WIDE, Screen, sign_in
from tests.examples import NIGHTLY
from tests.factories import (
    AssignmentFactory,
    AttemptFactory,
    DeliveryFactory,
    FeedFactory,
    ItemFactory,
    SubscriptionFactory,
    an_issue,
)

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OWN = (
    *(
        "/admin/",
        "/admin/mail/",
        "/admin/mail-check/",
        "/admin/first-steps/",
        "/admin/feeds/feed/opml/",
        "/admin/subscriptions/subscription/import/",
    ),
    *("/admin/subscriptions/subscription/export/", "/admin/feeds/feed/add/"),
)


@pytest.fixture(params=[Screen(*WIDE, scripts=True, scheme="light")], ids=str)
def screen(request: pytest.FixtureRequest) -> Screen:
    """One screen is enough: the policy does not depend on it."""
    chosen: Screen = request.param
    return chosen


@pytest.fixture
def rows() -> None:
    FeedFactory(title="<script>document.title = 'run'</script>")
    ItemFactory()
    AssignmentFactory()
    AttemptFactory(delivery=DeliveryFactory(issue=an_issue(), state="failed", last_error="550 5.1.1 No"))
    SubscriptionFactory()


def pages() -> list[str]:
    found = list(OWN)
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        found.append(reverse(f"{name}_changelist"))
        row = model._default_manager.order_by("pk").first()
        if row is not None:
            found.append(reverse(f"{name}_change", args=[row.pk]))
        try:
            found.append(reverse(f"{name}_add"))
        except NoReverseMatch:
            continue
    return sorted(set(found))


@NIGHTLY
@pytest.mark.usefixtures("rows")
def test_no_page_of_the_admin_needs_what_its_policy_forbids(page: Any, site: str) -> None:
    """The fixture fails the test if the browser logs an error."""
    sign_in(page, site)
    for path in pages():
        answer = page.goto(site + path)
        if answer.status == 200 and "text/html" in answer.headers["content-type"]:
            assert "script-src 'self' 'unsafe-eval';" in answer.headers["content-security-policy"]
            # Unfold's menus and dialogs need Alpine.
            assert page.evaluate("typeof window.Alpine") == "object", path
    assert page.title() != "run"


def test_the_sign_in_works_under_it(page: Any, site: str) -> None:
    User.objects.create_superuser("ada", password="right-horse-1")
    page.goto(f"{site}/admin/login/")
    page.get_by_label("Email or username").fill("ada")
    page.locator("input[name=password]").fill("right-horse-1")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"{site}/admin/")


def test_a_script_that_got_into_a_page_is_not_run(browser: Any, live_urls: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{live_urls}/admin/login/")
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'run'";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=\\"document.title = 'run'\\">");
        }"""
    )
    page.wait_for_timeout(200)
    assert page.title() != "run"
    context.close()
