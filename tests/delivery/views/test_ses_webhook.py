"""Amazon SES by SNS: with and without its envelope, and with a subscription to confirm."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import path

from channels.email.esp.message_form import metadata
from delivery.views.esp_webhook import esp_tracking
from tests.delivery.bounces import events
from tests.delivery.bounces.events import SECRET, tell
from tests.delivery.views.test_esp_webhook import CORE, kinds, sent

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]
urlpatterns = [path("anymail/<slug:esp>/tracking/", esp_tracking)]
SES_BOUNCE = {
    "bounceType": "Permanent",
    "bounceSubType": "General",
    "bouncedRecipients": [{"emailAddress": CORE}],
}


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.ANYMAIL_WEBHOOK_SECRET = SECRET


@pytest.mark.parametrize(
    ("kind", "detail", "expected"),
    [
        ("Bounce", {"bounceType": "Permanent", "bounceSubType": "General"}, "hard"),
        ("Bounce", {"bounceType": "Transient", "bounceSubType": "MailboxFull"}, "soft"),
        ("Complaint", {"complaintFeedbackType": "abuse"}, "complaint"),
    ],
)
def test_amazon_tells_by_sns(kind: str, detail: dict[str, Any], expected: str) -> None:
    row = sent()
    whom = {f"{'bounced' if kind == 'Bounce' else 'complained'}Recipients": [{"emailAddress": CORE}]}
    event = events.ses(kind, metadata(row.pk), detail | whom)
    head = {"X-Amz-Sns-Message-Type": "Notification", "X-Amz-Sns-Message-Id": "n1"}
    assert tell("ses", event, **head).status_code == 200
    assert kinds() == [expected]


@pytest.mark.parametrize(
    "headers",
    [
        {
            "X-Amz-Sns-Message-Type": "Notification",
            "X-Amz-Sns-Message-Id": "n1",
            "X-Amz-Sns-Rawdelivery": "true",
        },
        {},
    ],
)
def test_amazons_raw_delivery_has_no_envelope(headers: dict[str, str]) -> None:
    row = sent()
    notice = json.loads(events.ses("Bounce", metadata(row.pk), SES_BOUNCE)["Message"])
    for _ in range(2):
        assert tell("ses", notice, **headers).status_code == 200
    assert kinds() == ["hard"]


def sns(type_: str, **fields: str) -> Any:
    head = {"X-Amz-Sns-Message-Type": type_, "X-Amz-Sns-Message-Id": "n1"}
    return tell("ses", {"Type": type_, "MessageId": "n1", **fields}, **head)


def test_text_from_the_console_of_amazon_is_refused() -> None:
    assert sns("Notification", Message="Hello from the console").status_code == 400
    assert sns("Brandnew").status_code == 400
    assert sns("UnsubscribeConfirmation").status_code == 200


def test_a_subscription_of_amazon_is_confirmed_at_amazons_own_address_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, status = [], [200]

    class Client:
        def get(self, url: str, **_: Any) -> Any:
            asked.append(url)
            return SimpleNamespace(status=status[0])

    monkeypatch.setattr("delivery.views.esp_webhook.client", Client)
    right = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=abc"
    assert sns("SubscriptionConfirmation", SubscribeURL=right).status_code == 200
    status[0] = 403
    assert sns("SubscriptionConfirmation", SubscribeURL=right).status_code == 502
    assert asked == [right, right]
    for wrong in ("", "http://sns.eu-west-1.amazonaws.com/?x", "https://sns.x.amazonaws.com.evil.example/?x"):
        assert sns("SubscriptionConfirmation", SubscribeURL=wrong).status_code == 502
    assert len(asked) == 2
