"""How many clicks an admin needs for the usual tasks.

Invite a colleague, who signs in and approves an issue: few clicks for both.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from common.admin.html import object_url
from common.clock import utcnow
from delivery.letters.build import opened_context
from delivery.links import issue_url
from delivery.models import Delivery
from subscriptions.lists.worker import work_off_imports
from subscriptions.models import Subscription
from tests.delivery.collecting import a_newsletter, collect
from tests.delivery.ledger import queued
from tests.e2e.browser.screens import Seen, sign_in
from tests.e2e.test_newcomer import Newcomer
from tests.factories import (
    DestinationFactory,
    FeedFactory,
    MailboxMessageFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    an_issue,
)

MOST_OF_ADMIN, MOST_OF_COLLEAGUE = 5, 3
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


def test_the_next_issues_email_is_one_click_from_the_overview(admin: Newcomer) -> None:
    collect(a_newsletter(title="Harbour News"), 2)
    admin.page.reload()
    admin.click("link", "Harbour News", exact=False)
    admin.page.frame_locator("iframe").first.get_by_text("Harbour News").first.wait_for()
    assert admin.clicks == 1


def test_a_paused_issue_is_edited_and_goes_on_with_four_clicks(admin: Newcomer, site: str) -> None:
    issue = an_issue(published_at=utcnow(), html="<p>As it was.</p>")
    queued(3, issue=issue)
    admin.page.goto(site + object_url(issue))
    admin.click("button", "Pause")
    admin.page.get_by_label("Note above the posts").fill("We were wrong.")
    admin.click("button", "Save text")
    admin.see("The 3 emails not sent yet will have this text.")
    admin.click("button", "Resume")
    admin.see("Resumed.")
    issue.refresh_from_db()
    assert "We were wrong." in issue.html
    assert set(issue.deliveries.values_list("state", "version")) == {("queued", 1)}
    assert admin.clicks == 3


def test_the_page_of_a_sent_issue_is_mended_with_two_clicks(admin: Newcomer, site: str) -> None:
    issue = an_issue(published_at=utcnow(), html="<p>As it was.</p>")
    queued(1, issue=issue, state="sent", sent_at=utcnow())
    admin.page.goto(site + object_url(issue))
    admin.click("link", "Edit its page")
    admin.page.get_by_label("Note above the posts").fill("We were wrong.")
    admin.click("button", "Save text")
    admin.see("Its page in the archive has changed.")
    admin.page.goto(issue_url(issue).replace("https://letters.example", site))
    admin.see("We were wrong.")
    assert admin.clicks == 2


def test_one_persons_email_is_found_in_the_mailbox_with_two_clicks(
    admin: Newcomer, site: str, settings: Any
) -> None:
    settings.EMAIL_URL = "mailbox:"
    issue = an_issue(published_at=utcnow(), title="Spring")
    for row in queued(5, issue=issue, state="stored", sent_at=utcnow()):
        MailboxMessageFactory(delivery=row, recipient=row.destination.core, subject="Spring")
    address = row.destination.core
    admin.page.goto(site + reverse("delivery:mailbox"))
    admin.page.get_by_role("searchbox").fill(address)
    admin.page.keyboard.press("Enter")
    admin.click("link", "Spring", exact=False)
    admin.see(address)
    assert admin.clicks <= 2


class Person:
    """Somebody at a browser of their own, who counts clicks."""

    def __init__(self, browser: Any, site: str) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.seen, self.site, self.clicks = Seen(), site, 0
        self.page = self.seen.watched(self.context.new_page())

    def click(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()
        self.clicks += 1

    def leave(self) -> None:
        self.context.close()
        assert not self.seen.complaints, self.seen.complaints


def test_a_colleague_is_invited_signs_in_and_approves(browser: Any, live_urls: str, settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    newsletter = SubscribableFactory(title="Harbour")
    newsletter.feeds.add(FeedFactory())
    SubscriptionFactory(subscribable=newsletter)
    issue = an_issue(subscribable=newsletter, published_at=None)

    admin = Person(browser, live_urls)
    sign_in(admin.page, live_urls)
    admin.page.goto(live_urls + reverse("admin:index"))
    admin.click("link", "Settings")
    admin.click("link", "Team")
    admin.click("link", "Invite somebody")
    admin.page.locator("[name=email]").fill("bo@example.org")
    admin.page.locator("[value=sender]").check()
    admin.clicks += 1
    admin.click("button", "Invite somebody")
    admin.page.get_by_text("bo@example.org is invited").wait_for()
    admin.leave()

    mail = Delivery.objects.get(template="team_invitation")
    colleague = Person(browser, live_urls)
    link = str(opened_context(mail.context)["invitation_url"])
    colleague.page.goto(live_urls + "/join/" + link.partition("/join/")[2])
    colleague.page.locator("[name=password]").fill("a-long-pass-17")
    colleague.page.keyboard.press("Enter")
    colleague.click("link", "Look at it: Harbour waits for your approval")
    colleague.click("button", "Approve and send")
    colleague.click("button", "Approve and send")
    colleague.page.get_by_text("Sending to").first.wait_for()
    colleague.leave()
    issue.refresh_from_db()
    assert issue.published_at is not None
    assert admin.clicks <= MOST_OF_ADMIN
    assert colleague.clicks <= MOST_OF_COLLEAGUE
