"""A reader signs in by a mailed link, sees all data of their address, exports it, and is erased.

A letter's own links: another frequency, a pause, another name, unsubscribing, and returning.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from common.clock import utcnow
from subscriptions import links
from subscriptions.models import Consent, Destination, Notice, Subscription
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from tests.e2e.browser.screens import look_at
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    FeedFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ADA = "ada.lovelace@example.org"


@pytest.fixture
def ada() -> Destination:
    """Return Ada: subscribed to a weekly letter, unconfirmed for another, and gone from a third."""
    reader: Destination = DestinationFactory(core=ADA)
    weekly = SubscriptionFactory(
        destination=reader,
        display_name="Ada",
        subscribable__title="Notes from the valley",
        subscribable__arrangement="weekly",
        subscribable__name="valley",
    )
    UnconfirmedFactory(destination=reader, subscribable__title="Machines, and how they think")
    LeftFactory(destination=reader, subscribable__title="Harbour news")
    Consent.objects.create(
        subscription=weekly, act="asked", at=NOW, words="Subscribe to Notes from the valley"
    )
    for number in range(3):
        row = DeliveryFactory(
            subscription=weekly, state="sent", sent_at=NOW, issue__title=f"Notes of week {number}"
        )
    BounceFactory(delivery=row, kind="soft", diagnostic="452 4.2.2 Mailbox full")
    return reader


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).click()


def follow(page: Any, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()


def text(page: Any) -> str:
    return str(page.locator("main").inner_text())


def sign_in(page: Any) -> None:
    ask_for_link(email=ADA, ip="192.0.2.1", now=utcnow())
    mail_links(now=utcnow())
    page.goto(Notice.objects.latest("pk").context["sign_in_url"])
    press(page, "Sign in")


def test_from_the_form_to_every_newsletter_and_out_again(page: Any, site: str, ada: Destination) -> None:
    page.goto(f"{site}/sign-in/")
    look_at(page, "sign-in")
    page.get_by_label("Your email address").fill("somebody@localhost")
    press(page, "Email me a link")
    page.locator(".error").wait_for()
    look_at(page, "sign-in-refused")
    page.get_by_label("Your email address").fill(ADA)
    press(page, "Email me a link")
    expect(page.locator("main")).to_contain_text(f"If we know {ADA}, we’ve sent it a link")
    look_at(page, "sign-in-sent")
    mail_links(now=utcnow())
    link = Notice.objects.get().context["sign_in_url"]
    page.goto(link)
    look_at(page, "sign-in-confirm")
    press(page, "Sign in")
    assert page.url == f"{site}/mine/"
    expect(page.locator("main")).to_contain_text("Notes from the valley")
    look_at(page, "mine")

    page.goto(link)
    expect(page.locator("main")).to_contain_text("already been used")
    look_at(page, "sign-in-spent")
    follow(page, "I’m already signed in")
    follow(page, "Notes from the valley")
    assert "/manage/" in page.url
    page.go_back()
    press(page, "Sign out")
    page.goto(f"{site}/mine/")
    assert "You are signed out" not in text(page)
    assert page.url.startswith(f"{site}/sign-in/")


def test_all_data_is_seen_and_taken_along_then_all_is_left_and_erased(
    page: Any, site: str, ada: Destination, tmp_path: Path
) -> None:
    sign_in(page)
    follow(page, "See what we store about you")
    expect(page.locator("main")).to_contain_text("452 4.2.2 Mailbox full")
    look_at(page, "mine-data")
    with page.expect_download() as caught:
        follow(page, "Download everything")
    caught.value.save_as(tmp_path / caught.value.suggested_filename)
    data = json.loads((tmp_path / "my-data.json").read_text(encoding="utf-8"))
    assert len(data["mails"]) == 3

    page.goto(f"{site}/mine/")
    follow(page, "Unsubscribe from everything")
    look_at(page, "mine-leave")
    press(page, "Unsubscribe from 2 newsletters")
    expect(page.locator("main")).to_contain_text("You’ve unsubscribed from all newsletters")
    expect(page.locator("main")).to_contain_text("No newsletter is sent to this address")
    look_at(page, "mine-left")
    assert not Subscription.objects.exclude(status="unsubscribed").exists()

    SuppressionFactory(core=ADA)
    follow(page, "Delete my data")
    look_at(page, "erase")
    expect(page.locator("main")).to_contain_text("3 subscriptions")
    press(page, "Delete my data")
    expect(page.locator("main")).to_contain_text("Your data is deleted")
    look_at(page, "erased")
    assert not Destination.objects.filter(core=ADA).exists()
    page.goto(f"{site}/mine/")
    assert page.url.startswith(f"{site}/sign-in/")


def test_a_reader_changes_their_address_and_takes_it_back(page: Any, site: str, ada: Destination) -> None:
    sign_in(page)
    follow(page, "Change your address")
    look_at(page, "address")
    page.get_by_label("Your new address").fill("Ada@new.example")
    press(page, "Email a link to this address")
    expect(page.locator("main")).to_contain_text("Ada@new.example")
    look_at(page, "address-sent")
    page.goto(Notice.objects.latest("pk").context["change_url"])
    expect(page.locator("main")).to_contain_text("Notes from the valley")
    look_at(page, "address-confirm")
    press(page, "Use this address")
    expect(page.locator("main")).to_contain_text("We now send")
    look_at(page, "address-changed")
    assert Subscription.objects.confirmed().filter(destination__core="ada@new.example").count() == 1
    page.goto(Notice.objects.latest("pk").context["undo_url"])
    look_at(page, "address-undo")
    press(page, "Undo the change")
    expect(page.locator("main")).to_contain_text(ADA)
    look_at(page, "address-taken-back")
    assert not Subscription.objects.confirmed().exclude(destination=ada).exists()


@pytest.fixture
def reader(site: str) -> Subscription:
    """Return a subscriber of a daily newsletter; a weekly one has the same feeds."""
    feeds = [FeedFactory()]
    daily = SubscribableFactory(name="daily", title="The Daily", arrangement="daily", feeds=feeds)
    SubscribableFactory(name="weekly", title="The Weekly", arrangement="weekly", feeds=feeds)
    made: Subscription = SubscriptionFactory(subscribable=daily, display_name="Ada")
    return made


def test_another_pace_and_a_pause(page: Any, reader: Subscription) -> None:
    page.goto(links.manage_url(reader))
    look_at(page, "manage")
    page.get_by_role("button", name="Get this instead").click()
    expect(page.locator("main")).to_contain_text("Until then you still get The Daily")
    look_at(page, "manage-switching")
    page.get_by_role("button", name="Keep The Daily").click()
    page.get_by_role("button", name="For two weeks").click()
    expect(page.locator("main")).to_contain_text("Paused until")
    look_at(page, "manage-paused")
    page.get_by_role("button", name="Resume subscription").click()
    page.get_by_label("Until another day").fill("2020-01-01")
    page.get_by_role("button", name="Pause", exact=True).click()
    look_at(page, "manage-mistake")


def test_leaving_and_coming_back(page: Any, reader: Subscription) -> None:
    page.goto(links.unsubscribe_url(reader))
    look_at(page, "leave")
    page.get_by_role("button", name="Unsubscribe from The Daily").click()
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"
    expect(page.locator("main")).to_contain_text("You’re unsubscribed")
    look_at(page, "left")
    page.goto(links.manage_url(reader))
    look_at(page, "manage-left")
