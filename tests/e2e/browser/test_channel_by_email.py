"""A reader gets a channel by email: switches it on, confirms, reads the email, and leaves by its link."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.letters.notices import take_notices
from feeds.models import Feed
from feeds.polling.poll import poll_feed
from reader.models import Unread
from reader.people.readers import add_reader
from subscriptions.collections.assign import assign_final
from subscriptions.models import Assignable
from tests.delivery.conftest import smtp
from tests.e2e.browser.screens import look_at, sign_in
from tests.factories import FeedFactory
from tests.reader.people.test_letters import words_of
from tests.reader.posts import an_entry, put
from tests.servers.smtp_server import SmtpServer

__all__ = ["smtp"]
NEEDS_APP = "reader"
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_from_the_settings_to_the_email_and_out_by_its_link(page: Any, site: str, smtp: SmtpServer) -> None:
    User.objects.create_superuser("ada")
    reader = add_reader(name="ada", username="ada", now=utcnow())
    home = reader.channels.get(uid="home")
    blog = FeedFactory(title="Tide tables", url="https://tide.example.org/feed", host="tide.example.org")
    home.follows.create(feed=blog)
    sign_in(page, site, reader.user)

    page.goto(f"{site}/reader/c/home/settings/")
    page.locator("#letters").get_by_role("link", name="Your account").click()
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button", name="Save", exact=True).last.click()
    page.goto(f"{site}/reader/c/home/settings/")
    section = page.locator("#letters")
    section.get_by_label("How often").select_option("weekly")
    section.get_by_label("Day, if weekly").select_option("Friday")
    section.get_by_label("Time", exact=True).fill("07:00")
    section.get_by_label("Time zone").select_option("Europe/Vienna")
    section.get_by_label("Posts as", exact=True).select_option("full")
    section.get_by_label("Mark posts as read once they are sent").check()
    section.get_by_role("button", name="Save").click()
    expect(section.get_by_text("Open the link in the email")).to_be_visible()
    look_at(page, "letters-asked")

    take_notices(now=utcnow())
    send_due()
    (asked,) = smtp.messages
    (path,) = set(re.findall(r"/confirm/\S+", words_of(asked)))
    page.goto(f"{site}{path}")
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_load_state()
    now = utcnow()
    for name in ("Tides", "Donaudampfschifffahrtsgesellschaftskapitänsmütze"):
        content = {"html": f"<p>All about {name}.</p>", "text": f"All about {name}."}
        url = "https://tide.example.org/a"
        put(
            home,
            an_entry(feed=blog, jf2={"type": "entry", "name": name, "url": url, "content": content}),
            at=now,
        )
    page.goto(f"{site}/reader/c/home/settings/")
    expect(section.get_by_text("Next: Friday,")).to_contain_text(
        "7:00, to ada@example.org, with 2 posts so far"
    )
    look_at(page, "letters-on")

    feed = Feed.objects.get(subscribables__reader_channel=home.pk)
    poll_feed(feed_id=feed.pk, now=now + timedelta(minutes=1))
    assign_final(clock=lambda: now + timedelta(minutes=2))
    end = Assignable.objects.get().period_end
    assert end is not None
    poll_feed(feed_id=feed.pk, now=end + timedelta(minutes=1))
    assert complete_due(clock=lambda: end + timedelta(minutes=2)) == 1
    send_due(clock=lambda: end + timedelta(minutes=3))
    letter = smtp.messages[1]
    assert "All about Tides." in words_of(letter)
    assert not Unread.objects.exists()
    (html,) = re.findall(r"(?s)<body.*", words_of(letter, "html"))
    mail = page.context.browser.new_page()
    mail.set_content(html)
    expect(mail.get_by_role("heading").get_by_role("link", name="Tides")).to_be_visible()
    expect(mail.get_by_text("Tide tables").first).to_be_visible()
    mail.close()

    (path,) = set(re.findall(r"/unsubscribe/[\w=.-]+/", words_of(letter)))
    page.goto(f"{site}{path}")
    page.get_by_role("button", name="Unsubscribe").first.click()
    page.wait_for_load_state()
    page.goto(f"{site}/reader/c/home/settings/")
    expect(section.get_by_label("How often")).to_have_value("off")
    expect(section.get_by_text("Next:")).to_have_count(0)
    look_at(page, "letters-off")
