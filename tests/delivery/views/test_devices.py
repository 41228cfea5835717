"""Subscribing a device to notifications over HTTP, and the files that a browser needs."""

import json
from typing import Any

import pytest
from django.test import Client

from channels.webpush.channel import DEVICES
from common.secrets import opened
from delivery.accounts.dkim_keys import push_public_key
from delivery.models import Account, ServiceAccount
from subscriptions.models import Destination, Subscription
from subscriptions.views.pages import POLICY
from tests.factories import NOW, IssueFactory, SubscribableFactory
from tests.subscriptions.subscribers.test_devices import a_device

pytestmark = pytest.mark.django_db


def ask(client: Client, act: str, device: dict[str, str], name: str = "weekly") -> Any:
    return client.post(f"/s/{name}/device/", {"act": act, **device})


def test_a_device_is_told_asks_and_leaves_without_a_cookie_or_a_token() -> None:
    SubscribableFactory(name="weekly", offers_devices=True)
    strict, device = Client(enforce_csrf_checks=True), a_device()
    assert ask(strict, "ask", device).json()["told"] is False
    assert not Destination.objects.exists()
    assert ask(strict, "tell", device).json()["told"] is True
    assert ask(strict, "ask", device).json()["told"] is True
    answer = ask(strict, "stop", device)
    assert answer.json() == {"told": False, "gone": False}
    assert not answer.cookies
    assert "no-store" in answer["Cache-Control"]
    assert Subscription.objects.get().status == "unsubscribed"


@pytest.mark.parametrize(
    ("changes", "device", "status"),
    [
        ({}, {"endpoint": "https://10.0.0.1/x"}, 400),
        ({}, {"p256dh": "x"}, 400),
        ({}, {"auth": ""}, 400),
        ({"offers_devices": False}, {}, 403),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    client: Client, changes: dict[str, Any], device: dict[str, str], status: int
) -> None:
    SubscribableFactory(name="weekly", **{"offers_devices": True, **changes})
    answer = ask(client, "tell", {**a_device(), **device})
    assert answer.status_code == status
    assert answer.json()["error"].endswith(".")
    assert not Destination.objects.exists()


def test_too_many_are_told_to_come_later(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "ip=1/hour"
    client = Client(REMOTE_ADDR="203.0.113.7")
    SubscribableFactory(name="weekly", offers_devices=True)
    assert ask(client, "tell", a_device("1")).status_code == 200
    assert ask(client, "tell", a_device("2")).status_code == 429


def test_a_device_that_was_given_up_is_told_to_make_a_new_subscription(client: Client) -> None:
    SubscribableFactory(name="weekly", offers_devices=True)
    ask(client, "tell", a_device())
    Destination.objects.update(disabled_at=NOW)
    assert ask(client, "ask", a_device("other")).json() == {"told": False, "gone": False}
    device = a_device()
    ask(client, "tell", device)
    Destination.objects.update(disabled_at=NOW)
    assert ask(client, "ask", device).json() == {"told": False, "gone": True}


def test_a_newsletter_without_pages_has_no_devices(client: Client) -> None:
    SubscribableFactory(name="weekly", visibility="private")
    assert ask(client, "ask", a_device()).status_code == 404
    assert client.get("/s/weekly/device/").status_code == 405
    assert client.get("/s/weekly/app.webmanifest").status_code == 404


def test_a_browser_says_that_its_endpoint_is_another(client: Client) -> None:
    SubscribableFactory(name="weekly", offers_devices=True)
    old, new = a_device("old"), a_device("new")
    ask(client, "tell", old)
    prefixed = {f"old_{name}": value for name, value in old.items()}
    assert client.post("/push-renewed/", {**prefixed, **new}).json() == {"told": True}
    assert ask(client, "ask", new).json()["told"] is True
    assert client.post("/push-renewed/", {**prefixed, **new}).status_code == 400
    assert client.post("/push-renewed/", {}).status_code == 400


def test_the_page_and_the_issue_offer_it_with_the_key_and_allow_our_script_alone(client: Client) -> None:
    newsletter = SubscribableFactory(name="weekly", offers_devices=True)
    issue = IssueFactory(subscribable=newsletter)
    for place in ("/s/weekly/", f"/s/weekly/archive/{issue.pk}/"):
        answer = client.get(place)
        page = answer.content.decode()
        assert f'data-key="{push_public_key()}"' in page
        assert page.count("Notify me on this device") == 1
        assert answer["Content-Security-Policy"].startswith(POLICY)
        assert "script-src 'self'" in answer["Content-Security-Policy"]
        assert "unsafe" not in answer["Content-Security-Policy"]


def test_a_page_that_does_not_offer_it_has_no_script_and_makes_no_key(client: Client) -> None:
    SubscribableFactory(name="weekly")
    answer = client.get("/s/weekly/")
    assert b"data-device" not in answer.content
    assert answer["Content-Security-Policy"] == POLICY
    assert not Account.objects.exists()


def test_the_worker_is_for_the_whole_site(client: Client) -> None:
    answer = client.get("/push-worker.js")
    assert answer["Content-Type"].startswith("text/javascript")
    assert b"showNotification" in answer.content
    assert "script-src" not in answer["Content-Security-Policy"]


def test_a_home_screen_opens_the_newsletters_page(client: Client) -> None:
    SubscribableFactory(name="weekly", title="Weekly “é”")
    said = json.loads(client.get("/s/weekly/app.webmanifest").content)
    assert (said["name"], said["start_url"], said["display"]) == ("Weekly “é”", "/s/weekly/", "standalone")


class TestKey:
    def test_it_is_made_once_and_kept_encrypted(self) -> None:
        first = push_public_key()
        assert push_public_key() == first
        [row] = Account.objects.all()
        assert (row.kind, row.name) == ("webpush", DEVICES)
        private = opened(row.secrets)["private"]
        assert private not in str(row.secrets.token)
        assert len(first) == 87

    def test_no_admin_can_see_change_or_delete_it(self) -> None:
        push_public_key()
        assert not ServiceAccount.objects.exists()
        assert not Account.objects.mail().exists()

    def test_a_key_that_cannot_be_read_is_never_replaced_and_pages_go_on(
        self, client: Client, settings: Any
    ) -> None:
        SubscribableFactory(name="weekly", offers_devices=True)
        push_public_key()
        kept = Account.objects.get().secrets.token
        settings.SECRET_KEY = "another one altogether"
        page = client.get("/s/weekly/")
        assert page.status_code == 200
        assert b"data-device" not in page.content
        assert Account.objects.get().secrets.token == kept
