"""An admin writes a series of five, somebody signs up on a phone, and it comes over the next days."""

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from channels.base import Sent
from common.clock import utcnow
from delivery.issues.send_series import send_series
from delivery.issues.series import emails_of
from delivery.models import Delivery
from subscriptions import links
from subscriptions.models import SeriesRun, Subscribable
from tests.delivery.ledger import claimed, ended
from tests.e2e.browser.screens import look_at, sign_in
from tests.factories import IssueFactory, IssueItemFactory, SubscribableFactory, UnconfirmedFactory

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ZONE = "Asia/Kolkata"


def write(page: Any, subject: str) -> None:
    page.get_by_role("button", name="Write an email").click()
    page.get_by_label("Subject", exact=True).fill(subject)
    page.get_by_role("textbox", name="Text").fill(f"This is *{subject}*.")
    page.get_by_role("button", name="Switch on").click()
    expect(page.get_by_text(f"“{subject}” is switched on.")).to_be_visible()


def test_from_the_first_email_to_the_fifth(page: Any, site: str) -> None:
    admin = User.objects.create_superuser("ada", "ada@example.org")
    newsletter: Any = SubscribableFactory(title="Harbour news", time_zone="Europe/Berlin")
    now = utcnow()
    for number in (1, 2):
        issue = IssueFactory(subscribable=newsletter, published_at=now - timedelta(days=9 - number))
        IssueItemFactory(issue=issue, item__title=f"Why harbours silt up, part {number}")
    sign_in(page, site, admin)

    page.goto(f"{site}/admin/subscriptions/subscribable/{newsletter.pk}/change/?tab=subscribers")
    page.get_by_role("link", name="Begin a series").click()
    look_at(page, "series-empty")
    for subject in ("Welcome aboard", "How to read a tide table", "Donaudampfschifffahrtsgesellschaft"):
        write(page, subject)
    page.get_by_label("Why harbours silt up, part 1").check()
    page.get_by_label("Why harbours silt up, part 2").check()
    page.get_by_role("button", name="Add to the series").click()
    expect(page.get_by_text("2 posts added.")).to_be_visible()
    page.locator("li", has_text="How to read a tide table").hover()
    page.get_by_role("button", name="Move “How to read a tide table” down").click()
    page.get_by_label("Days before “How to read a tide table”").fill("3")
    page.get_by_role("button", name="Save days").click()
    expect(page.get_by_label("Days before “How to read a tide table”")).to_have_value("3")
    page.get_by_label("New subscribers get it").check(force=True)
    page.get_by_label("Time", exact=True).fill("07:00")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Each new subscriber gets these")).to_be_visible()
    look_at(page, "series")
    newsletter = Subscribable.objects.get()
    assert newsletter.welcome == "series"

    row = UnconfirmedFactory(subscribable=newsletter, confirm_nonce="nonce")
    page.goto(links.confirm_url(row, now=now).replace("https://letters.example", site))
    look_at(page, "series-confirm")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="You’re subscribed")).to_be_visible()
    run = SeriesRun.objects.get()
    assert run.time_zone == (
        "" if page.is_plain else page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    )
    SeriesRun.objects.update(time_zone=ZONE)

    came = []
    for hour in range(24 * 9):
        at = now + timedelta(hours=hour, minutes=1)
        if not SeriesRun.objects.filter(due_at__lte=at).exists() and not Delivery.objects.due(at).exists():
            continue
        send_series(clock=lambda at=at: at)  # type: ignore[misc]
        for each in claimed(now=at) if Delivery.objects.due(at).filter(kind="issue").exists() else ():
            (done,) = ended(Sent(), each, at=at)
            came.append((str(done.issue), at))
    assert [subject for subject, _ in came] == [str(letter.issue) for letter in emails_of(newsletter)]
    assert len(came) == 5
    # 07:00 in Kolkata, and the pass after it.
    assert all(
        timedelta() <= at - at.astimezone(UTC).replace(hour=1, minute=30) < timedelta(hours=1)
        for _, at in came[1:]
    )
    page.goto(f"{site}/admin/subscriptions/subscription/{row.pk}/change/")
    expect(page.get_by_text("5 of 5")).to_be_visible()
    page.goto(f"{site}/admin/delivery/broadcast/series/{newsletter.pk}/")
    expect(page.get_by_text("1 subscriber got it").first).to_be_visible()
