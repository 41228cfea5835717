"""A newsletter arrives at a reader's secret address, is read, and is left again."""

from collections.abc import Iterator
from dataclasses import asdict
from ipaddress import ip_network
from typing import Any

import pytest
from playwright.sync_api import expect

from common.clock import utcnow
from delivery.bounces.sources import take_mail
from reader.inbox.addresses import recipient_of
from reader.models import MailAddress, MailSource
from reader.people.readers import add_reader
from reader.rules.mail_posts import Leaving
from tests.e2e.browser.screens import look_at, sign_in
from tests.reader.inbox.conftest import DOMAIN, newsletter
from tests.servers.feed_server import FeedServer

NEEDS_APP = "reader"
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ISSUE = """<div style="display:none">Hidden preview</div>
<table role="presentation" width="100%"><tr><td align="center"><table width="600"><tr><td>
<h1>The harbour</h1><p>It floods twice a day. <a href="https://tide.example/a">Bring a lamp</a>.</p>
<img src="https://tide.example/open.gif" width="1" height="1"></td></tr></table></td></tr></table>"""
CONFIRM = '<p>Please confirm your subscription: <a href="https://tide.example/c">Confirm</a></p>'


@pytest.fixture
def sender() -> Iterator[FeedServer]:
    with FeedServer() as server:
        yield server


def test_a_newsletter_is_subscribed_to_read_and_left(
    page: Any, site: str, sender: FeedServer, settings: Any
) -> None:
    settings.BOUNCE_DOMAIN = DOMAIN
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]
    reader = add_reader(name="ada", now=utcnow())
    sign_in(page, site, reader.user)
    page.goto(f"{site}/reader/follow/")
    page.get_by_role("link", name="Read newsletters that come by email").click()
    look_at(page, "mail-empty")
    page.get_by_label("Ask me about new senders").check()
    page.get_by_role("button", name="Create address").click()
    expect(page.get_by_text("Nobody has written yet")).to_be_visible()
    to = recipient_of(MailAddress.objects.get())
    expect(page.locator("code")).to_have_text(to)

    list_id = "Tide tables <tides.tide.example>"
    for subject, html in (("Confirm your subscription", CONFIRM), ("High water", ISSUE)):
        raw = newsletter(
            to, subject=subject, html=html, List_Id=list_id, sender="Jane Doe <jane@tide.example>"
        )
        assert take_mail(raw=raw, now=utcnow()).effect == "Held."
    page.reload()
    look_at(page, "mail-held")
    page.get_by_role("button", name="Accept").click()
    look_at(page, "mail-senders")

    page.goto(f"{site}/reader/")
    note = page.get_by_text("asks you to confirm a subscription")
    expect(note).to_be_visible()
    expect(note.get_by_role("link")).to_have_attribute("href", "https://tide.example/c")
    expect(page.get_by_text("It floods twice a day.")).to_be_visible()
    expect(page.get_by_text("Hidden preview")).to_have_count(0)
    expect(page.locator("article img[src*=open]")).to_have_count(0)
    look_at(page, "mail-posts")

    MailSource.objects.update(leaving=asdict(Leaving(one_click=sender.serve("/u", "Bye"))))
    source = MailSource.objects.get()
    page.goto(f"{site}/reader/feeds/{source.feed_id}/")
    page.get_by_role("button", name="Unsubscribe").click()
    expect(page.get_by_text("The sender confirmed it.")).to_be_visible()
    look_at(page, "mail-left")
    assert [request.method for request in sender.requests] == ["POST"]
