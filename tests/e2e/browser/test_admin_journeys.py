"""How many clicks an admin needs from the overview for two tasks."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from subscriptions.lists.worker import work_off_imports
from subscriptions.models import Subscription
from tests.e2e.browser.screens import Seen, sign_in
from tests.e2e.test_newcomer import Newcomer
from tests.factories import DestinationFactory, SubscribableFactory, SubscriptionFactory, SuppressionFactory

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def admin(browser: Any, site: str) -> Iterator[Newcomer]:
    """Yield an admin on the overview."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    seen = Seen()
    page = seen.watched(context.new_page())
    sign_in(page, site)
    page.goto(site + reverse("admin:index"))
    yield Newcomer(page)
    context.close()
    assert not seen.complaints


def test_why_somebody_gets_nothing_takes_two_clicks(admin: Newcomer) -> None:
    newsletter = SubscribableFactory(title="Harbour News")
    for name in ("ada", "bo"):
        SubscriptionFactory(
            subscribable=newsletter, destination=DestinationFactory(core=f"{name}@example.org")
        )
    SuppressionFactory(core="ada@example.org", reason="bounced before")
    admin.click("link", "Subscribers")
    admin.see("No: on the Do not email list")
    admin.click("link", "ada@example.org")
    admin.see("Gets nothing: on the Do not email list since")
    assert admin.clicks == 2


def test_a_list_is_imported_with_five_clicks(admin: Newcomer) -> None:
    SubscribableFactory(title="Harbour News")
    lines = "".join(f"{number}@example.org;Ada {number};confirmed\r\n" for number in range(20))
    admin.click("link", "Subscribers")
    admin.click("link", "Import a list")
    file = {
        "name": "list.csv",
        "mimeType": "text/csv",
        "buffer": f"E-Mail;Vorname;Status\r\n{lines}".encode("cp1252"),
    }
    admin.page.locator("input[type=file]").set_input_files([file])
    # Opens the browser's dialog.
    admin.clicks += 1
    admin.click("button", "Preview the import")
    work_off_imports(budget=timedelta(seconds=5))
    admin.page.reload()
    admin.click("button", "Import this list")
    work_off_imports(budget=timedelta(seconds=5))
    assert Subscription.objects.confirmed().count() == 20
    assert admin.clicks == 5


def test_an_import_asks_only_what_the_chosen_program_needs(admin: Newcomer, site: str) -> None:
    page = admin.page
    page.goto(site + reverse("admin:feedletter_site_arrival_add"))
    fields = ("file", "second", "secrets", "reader", "zone", "stale", "queued")

    def shown(program: str) -> set[str]:
        page.select_option("select[name=program]", program)
        return {name for name in fields if page.locator(f"[name={name}]").is_visible()}

    assert shown("feedletter") == {"file", "secrets", "zone", "stale", "queued"}
    assert shown("rss2email") == {"file", "second"}
    assert shown("microsub") == {"file", "reader"}
    assert page.get_by_text("rss2email.cfg").is_hidden()
