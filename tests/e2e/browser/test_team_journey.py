"""Invite a colleague, who signs in and approves an issue: few clicks for both."""

from typing import Any

import pytest
from django.urls import reverse

from delivery.letters.build import opened_context
from delivery.models import Delivery
from tests.e2e.browser.screens import Seen, sign_in
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory, an_issue

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST_OF_ADMIN, MOST_OF_COLLEAGUE = 5, 3


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
