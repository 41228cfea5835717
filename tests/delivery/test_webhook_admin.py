"""Webhooks in the admin: created, tried, with their calls and errors."""

import html
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.ports.events import EventKind
from delivery.admin.webhooks.webhook import explained, next_step, outcome, said, webhook_state
from delivery.models import Webhook, WebhookCall
from delivery.webhooks.calls import call_due
from delivery.webhooks.outbox import call_of
from tests.delivery.webhooks.listener import Receiver, a_webhook, receivers
from tests.factories import NOW, FeedFactory, SubscribableFactory
from tests.servers.feed_server import Reply

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]
STATES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "active", "It is called when something happens."),
    ({"active": False}, "paused", "Paused: nothing is sent"),
    ({"failures": 2, "failing_since": NOW, "free_at": NOW}, "failing", "It has refused every call since"),
    ({"disabled_at": NOW, "disabled_reason": "HTTP 410"}, "off", "said that it is gone (HTTP 410)"),
]
CALLS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "waits", "–"),
    ({"attempts": 2, "status": 503}, "waits after 2 tries; next 2", "HTTP 503"),
    ({"state": "sending"}, "is being sent", "–"),
    ({"state": "sent", "attempts": 1, "status": 200}, "taken", "HTTP 200"),
    ({"state": "sent", "attempts": 3}, "taken after 3 tries", "–"),
    ({"state": "failed", "attempts": 1, "error": "No route"}, "given up after 1 try", "No route"),
]
BODY = '{"type":"subscription.left","data":{"subscriber":{"address":"<b>@example.org"}}}'


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receivers() as (one,):
        yield one


def page(client: Client, name: str, *args: Any, **query: str) -> str:
    return client.get(reverse(f"admin:{name}", args=args), query).content.decode()


def act(client: Client, row: Any, action: str, **more: str) -> str:
    meta = row._meta
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    chosen = {"action": action, "_selected_action": [row.pk], "_on_page": str(row.pk), **more}
    return html.unescape(client.post(address, chosen, follow=True).content.decode())


def a_call(webhook: Webhook, **facts: Any) -> WebhookCall:
    now = utcnow()
    call = call_of(webhook.pk, "evt_1", "subscription.left", BODY, now=now)
    for name, value in {"state": "failed", "status": 500, "error": "HTTP 500: out of paper", **facts}.items():
        setattr(call, name, value)
    call.save()
    return call


def test_the_secret_is_shown_once_and_signs_the_test(admin_client: Client, receiver: Receiver) -> None:
    letter = SubscribableFactory(name="weekly", title="The Weekly")
    made = {"name": "CRM", "url": receiver.url, "events": ["subscription.left"], "newsletters": [letter.pk]}
    shown = admin_client.post(reverse("admin:delivery_webhook_add"), made, follow=True).content.decode()
    webhook = Webhook.objects.get()
    assert list(webhook.newsletters.all()) == [letter]
    found = re.search(r"whsec_[A-Za-z0-9+/=]{44}", html.unescape(shown))
    assert found
    assert "whsec_" not in page(admin_client, "delivery_webhook_change", webhook.pk)
    receiver.secret = found[0]
    assert "CRM took the test (HTTP 204)" in act(admin_client, webhook, "test")
    assert receiver.types == ["webhook.test"]


def test_what_a_receiver_says_against_a_test_is_shown_and_not_tried_again(
    admin_client: Client, receiver: Receiver
) -> None:
    webhook = a_webhook(receiver)
    receiver.replies = [Reply(b"who are you?", 403, {"Content-Type": "text/plain"})]
    assert "HTTP 403: who are you?" in act(admin_client, webhook, "test")
    webhook.refresh_from_db()
    assert (webhook.failures, webhook.calls.get().state) == (0, "failed")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "ftp://crm.example/"}, "begins with https://"),
        ({"url": "https://ada:secret@crm.example/"}, "Leave user and password out"),
        ({"events": []}, "This field is required"),
        ({"events": ["subscription.eaten"]}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_called_is_refused_at_its_field(
    admin_client: Client, changes: dict[str, Any], said: str
) -> None:
    made = {"name": "CRM", "url": "https://crm.example/", "events": list(EventKind), **changes}
    shown = admin_client.post(reverse("admin:delivery_webhook_add"), made)
    assert shown.status_code == 200
    assert said in html.unescape(shown.content.decode())
    assert not Webhook.objects.exists()


def test_a_webhook_is_changed_paused_resumed_and_deleted(admin_client: Client, receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    form = {"name": "Shop", "url": "https://shop.example/hook", "events": ["feed.failing"]}
    address = reverse("admin:delivery_webhook_change", args=[webhook.pk])
    assert admin_client.post(address, form).status_code == 302
    webhook.refresh_from_db()
    assert (webhook.name, webhook.events) == ("Shop", ["feed.failing"])
    assert "is paused." in act(admin_client, webhook, "pause")
    assert "Paused: nothing is sent" in page(admin_client, "delivery_webhook_change", webhook.pk)
    assert "is resumed" in act(admin_client, webhook, "resume")
    assert "will be deleted" in act(admin_client, webhook, "drop")
    act(admin_client, webhook, "drop", confirmed="1")
    assert not Webhook.objects.exists()


def test_another_secret_is_asked_about_first_and_then_shown(admin_client: Client, receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    assert "For a day" in act(admin_client, webhook, "rotate")
    shown = act(admin_client, webhook, "rotate", confirmed="1")
    found = re.search(r"whsec_[A-Za-z0-9+/=]{44}", shown)
    assert found
    assert found[0] != receiver.secret


def test_the_log_shows_payload_answer_and_next_try_and_sends_again(
    admin_client: Client, receiver: Receiver
) -> None:
    webhook = a_webhook(receiver)
    call = a_call(webhook)
    assert "HTTP 500: out of paper" in page(admin_client, "delivery_webhookcall_changelist")
    shown = page(admin_client, "delivery_webhookcall_change", call.pk)
    assert "&lt;b&gt;@example.org" in shown
    assert "HTTP 500: out of paper" in shown
    assert "Queued again" in act(admin_client, call, "retry")
    call.refresh_from_db()
    assert (call.state, call.attempts, call.event_id) == ("queued", 0, "evt_1")
    act(admin_client, webhook, "pause")
    assert "The webhook is paused" in act(admin_client, call, "retry")


def test_a_webhook_that_rests_can_be_tried_at_once(admin_client: Client, receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    later = utcnow() + timedelta(hours=1)
    Webhook.objects.update(failures=5, failing_since=utcnow(), free_at=later)
    a_call(webhook, state="queued", due_at=later)
    assert "Try again now" in page(admin_client, "delivery_webhook_change", webhook.pk)
    assert "1 call tried again now." in act(admin_client, webhook, "hurry")
    assert call_due() == 1
    assert receiver.ids == ["evt_1"]


def test_what_was_forgotten_is_not_sent_again(admin_client: Client, receiver: Receiver) -> None:
    call = a_call(a_webhook(receiver), body="")
    assert "was erased" in page(admin_client, "delivery_webhookcall_change", call.pk)
    assert "was forgotten" in act(admin_client, call, "retry")
    call.refresh_from_db()
    assert call.state == "failed"


@pytest.mark.slow
def test_the_first_page_says_which_webhooks_need_a_person(admin_client: Client, receiver: Receiver) -> None:
    FeedFactory()
    webhook = a_webhook(receiver)
    a_call(webhook, kind="webhook.test", event_id="evt_0")
    assert "webhook can’t be reached" not in page(admin_client, "index")
    assert "call of a webhook failed" not in page(admin_client, "index")
    now = utcnow()
    Webhook.objects.update(failures=5, failing_since=now - timedelta(hours=2), free_at=now)
    assert "1 webhook can’t be reached" in page(admin_client, "index")
    a_call(webhook)
    assert "1 call of a webhook failed this week" in page(admin_client, "index")
    Webhook.objects.update(active=False, failing_since=None, disabled_at=now, disabled_reason="HTTP 410.")
    assert "1 webhook can’t be reached" in page(admin_client, "index")


def test_only_who_may_change_webhooks_sees_what_they_do(client: Client, receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert client.get(reverse("admin:delivery_webhook_changelist")).status_code == 403
    assert client.get(reverse("admin:delivery_webhook_change", args=[webhook.pk])).status_code == 403
    assert client.get(reverse("admin:delivery_webhookcall_changelist")).status_code == 403


@pytest.mark.parametrize(("facts", "state", "words"), STATES)
def test_how_a_webhook_stands_is_said(facts: dict[str, Any], state: str, words: str) -> None:
    webhook = Webhook(name="x", **facts)
    assert webhook_state(webhook)[0] == state
    assert words in explained(webhook)


@pytest.mark.parametrize(("facts", "words", "answer"), CALLS)
def test_how_a_call_stands_is_said(facts: dict[str, Any], words: str, answer: str) -> None:
    call = WebhookCall(webhook=Webhook(), due_at=NOW, **facts)
    assert outcome(call).startswith(words)
    assert said(call) == answer
    assert (next_step(call) == "–") == (call.state != "queued")
