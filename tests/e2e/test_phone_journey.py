"""A reader gets a newsletter by SMS, in a browser without scripts: number, code, unsubscribing."""

from typing import Any

import pytest
from django.test import Client

from subscriptions.models import Subscribable, Subscription, Suppression
from tests.delivery.sms.conftest import newsletter, twilio  # noqa: F401 - fixtures
from tests.delivery.sms.texting import ACCOUNT, NUMBER, bodies, code_in, go_out, tell
from tests.servers.services.twilio import Twilio

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def text(page: Any) -> str:
    return str(page.locator("main").inner_text())


def test_a_number_a_code_a_message_and_stop(
    page: Any,
    twilio: Twilio,  # noqa: F811
    newsletter: Subscribable,  # noqa: F811
    live_server: Any,
    client: Client,
    settings: Any,
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    page.goto(f"{live_server.url}/s/{newsletter.name}/")
    page.get_by_label("Your mobile number").fill("+49 30 901820")
    page.get_by_role("button", name="Subscribe to").click()
    assert "can’t receive text messages" in text(page)
    page.get_by_label("Your mobile number").fill("0151 23456789")
    page.get_by_role("button", name="Subscribe to").click()
    assert "Check your phone" in text(page)
    assert "+49 1512 3456789" in text(page)
    go_out()
    code = code_in(bodies(twilio)[0])
    page.get_by_label("The code").fill(f"{(int(code) + 1) % 10**6:06}")
    page.get_by_role("button", name="Confirm").click()
    assert "That’s not the code" in text(page)
    assert "4 tries" in text(page)
    # A reload submits no form again.
    page.reload()
    assert "4 tries" in text(page)
    page.get_by_label("The code").fill(code)
    page.get_by_role("button", name="Confirm").click()
    assert "You’re subscribed" in text(page)
    assert Subscription.objects.get().status == "confirmed"
    link = page.get_by_role("link", name="Manage your subscription").get_attribute("href")
    page.goto(f"{live_server.url}/{link.split('/', 3)[3]}")
    assert page.get_by_role("link", name="Unsubscribe").count()
    tell(client, f"/sms/{ACCOUNT}/inbound/", {"From": NUMBER, "Body": "Stop"})
    assert Subscription.objects.get().status == "unsubscribed"
    assert Suppression.objects.get().core == NUMBER
