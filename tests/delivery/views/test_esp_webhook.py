"""Webhooks of mail services: only with the secret, only about our letters, once."""

import base64
import hashlib
import hmac
import json
import runpy
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import path

from channels.email.esp.message_form import METADATA_NAME, delivery_of, metadata
from channels.email.esp.services import SERVICES
from delivery.accounts.accounts import last_refused_call
from delivery.models import Account, Bounce, Delivery
from delivery.views.esp_webhook import esp_tracking
from feedletter_site import env
from subscriptions.models import Subscription, Suppression
from tests.delivery.bounces import events
from tests.delivery.bounces.events import KEY, SECRET, tell
from tests.examples import some_now
from tests.factories import NOW, DeliveryFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]
urlpatterns = [path("anymail/<slug:esp>/tracking/", esp_tracking)]
CORE = "ada@example.org"
MALFORMED = [
    *(b"", b"{", b"null", b"[]", b"[null]", b"1", b'"x"', b"{}", b"[[]]", b"\xff", b"[" * 100_000, b"NaN"),
    *(b'{"event-data": 1, "signature": 2}', b'{"Type": "Notification", "Message": "{"}', b'{"data": []}'),
    *(b'[{"event": {}, "timestamp": "x"}]', b'{"msys": 1}', b'{"RecordType": {}, "Metadata": 1}'),
    *(b'{"type": 1, "created_at": 1e400, "data": {}}', b'[{"timestamp": 1e30, "event": "bounce"}]'),
    *(b"mandrill_events=x", b"mandrill_events=[1]", b"timestamp=1&token=2&signature=3"),
]


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.ANYMAIL_WEBHOOK_SECRET = SECRET
    settings.EMAIL_URL = f"anymail+mailgun://{KEY}@mg.example.org"
    cache.clear()


def sent(core: str = CORE, **changes: Any) -> Delivery:
    """Return a letter that a service accepted an hour ago."""
    usual = {"state": "sent", "sent_at": NOW - timedelta(hours=1), "subscription__destination__core": core}
    row: Delivery = DeliveryFactory(**{**usual, **changes})
    return row


def tell_mailersend(event: dict[str, Any]) -> int:
    """Post an event signed as MailerSend does."""
    signature = hmac.digest(b"s1gn", json.dumps(event).encode(), hashlib.sha256).hex()
    return int(tell("mailersend", event, Signature=signature).status_code)


def kinds() -> list[str]:
    return list(Bounce.objects.order_by("pk").values_list("kind", flat=True))


def suppressed() -> list[str]:
    return list(Suppression.objects.values_list("core", flat=True))


@pytest.mark.parametrize("secret", ["", "feedletter:wrong", "feedletter", ":l0ng-passw0rd", "žluť:kůň"])
@pytest.mark.parametrize("esp", ["postmark", "mailgun", "ses", "nobody"])
def test_without_the_secret_nothing_is_said_or_taken(esp: str, secret: str) -> None:
    row = sent()
    answer = tell(esp, events.postmark("HardBounce", metadata(row.pk)), secret=secret)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic")
    assert not Bounce.objects.exists()


@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "head", "options", "patch"])
def test_no_method_gets_anywhere_without_the_secret(method: str) -> None:
    assert getattr(Client(), method)("/anymail/postmark/tracking/").status_code == 401


def test_no_secret_set_lets_nobody_in(settings: Any) -> None:
    settings.ANYMAIL_WEBHOOK_SECRET = ""
    assert tell("postmark", {}, secret=":").status_code == 401
    assert tell("postmark", {}, secret="").status_code == 401


@pytest.mark.parametrize("secret", ["", SECRET])
def test_the_site_has_webhooks_only_where_there_is_a_secret(settings: Any, secret: str) -> None:
    settings.ANYMAIL_WEBHOOK_SECRET = secret
    patterns = runpy.run_path(str(settings.BASE_DIR / "feedletter_site" / "urls.py"))["urlpatterns"]
    assert any("anymail" in str(pattern.pattern) for pattern in patterns) == bool(secret)


@pytest.mark.parametrize("value", ["secret", ":x", "x:", "a b:c", "a:b c"])
def test_a_secret_that_no_service_can_send_stops_the_start(value: str) -> None:
    env.pair("")
    env.pair(SECRET)
    with pytest.raises(ValueError, match=r"^$"):
        env.pair(value)


def test_a_hard_bounce_suppresses_and_is_recorded_once() -> None:
    row = sent()
    for _ in range(3):
        assert tell("postmark", events.postmark("HardBounce", metadata(row.pk))).status_code == 200
    (bounce,) = Bounce.objects.all()
    assert (bounce.kind, bounce.delivery, bounce.recipient) == ("hard", row, CORE)
    assert "unable to deliver" in bounce.diagnostic
    assert suppressed() == [CORE]


def test_another_event_is_another_row() -> None:
    row = sent()
    for identity in (1, 2):
        tell("postmark", events.postmark("SoftBounce", metadata(row.pk), identity=identity))
    assert kinds() == ["soft", "soft"]
    assert suppressed() == []


def test_a_complaint_suppresses_and_ends_the_subscription() -> None:
    row = sent()
    tell("postmark", events.postmark("SpamComplaint", metadata(row.pk)))
    assert (kinds(), suppressed()) == (["complaint"], [CORE])
    assert Subscription.objects.get().status == Subscription.Status.UNSUBSCRIBED


def test_who_leaves_by_the_services_own_link_leaves_this_newsletter_only() -> None:
    row = sent()
    change = events.postmark("", metadata(row.pk), RecordType="SubscriptionChange", SuppressSending=True)
    tell("postmark", {**change, "SuppressionReason": "ManualSuppression"})
    assert Subscription.objects.get().status == Subscription.Status.UNSUBSCRIBED
    assert (kinds(), suppressed()) == ([], [])


def test_delays_of_a_letter_are_one_row_and_deliveries_none() -> None:
    row = sent()
    for identity in (1, 2, 3):
        tell("postmark", events.postmark("Transient", metadata(row.pk), identity=identity))
    tell("postmark", {**events.postmark("", metadata(row.pk)), "RecordType": "Delivery"})
    tell("postmark", {**events.postmark("", metadata(row.pk)), "RecordType": "Open"})
    assert (kinds(), suppressed()) == (["delayed"], [])


def test_an_event_counts_only_with_what_we_sent_along() -> None:
    row, other = sent(), sent("bob@example.org")
    stamp = metadata(other.pk)[METADATA_NAME].partition("-")[2]
    forged = [
        {},
        {METADATA_NAME: "1"},
        {METADATA_NAME: f"{row.pk:x}-{stamp}"},
        {METADATA_NAME: f"{row.pk:x}-{'0' * 32}"},
        {"x": "y"},
    ]
    for told in forged:
        assert tell("postmark", events.postmark("HardBounce", told)).status_code == 200
    assert not Bounce.objects.exists()
    assert [delivery_of(told) for told in forged] == [None] * 5


def test_a_letter_that_is_gone_is_no_error() -> None:
    assert tell("postmark", events.postmark("HardBounce", metadata(12345))).status_code == 200
    assert not Bounce.objects.exists()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (
            {"severity": "permanent", "delivery-status": {"code": 550, "message": "5.1.1 No such user"}},
            "hard",
        ),
        ({"severity": "permanent", "delivery-status": {"code": 605}, "reason": "suppress-bounce"}, "hard"),
        (
            {"severity": "permanent", "delivery-status": {"code": 552, "message": "5.2.2 Mailbox full"}},
            "soft",
        ),
        ({"severity": "permanent", "delivery-status": {"code": 550, "message": "5.7.1 spam"}}, "policy"),
        ({"severity": "temporary", "delivery-status": {"code": 452, "message": "4.2.2 full"}}, "delayed"),
    ],
)
def test_mailguns_events_are_signed_besides(said: dict[str, Any], kind: str) -> None:
    row = sent()
    event = events.mailgun("failed", metadata(row.pk), key="another", **said)
    assert tell("mailgun", event).status_code == 400
    assert kinds() == []
    assert tell("mailgun", events.mailgun("failed", metadata(row.pk), key=KEY, **said)).status_code == 200
    assert kinds() == [kind]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"event": "dropped", "code": "605", "description": "Not delivering to previously bounced"}, "hard"),
        ({"event": "dropped", "code": "602", "description": "Too old"}, "soft"),
        ({"event": "dropped", "code": "607", "description": "Not delivering to a user who"}, "complaint"),
        ({"event": "bounced", "code": "550", "error": "5.1.1 No such user"}, "hard"),
        ({"event": "bounced", "code": "550", "error": "5.7.1 Spam"}, "policy"),
    ],
)
def test_mailguns_events_may_come_as_a_form(said: dict[str, str], kind: str) -> None:
    row = sent()
    signed = hmac.digest(KEY.encode(), b"1767225600t1", hashlib.sha256).hex()
    form = {"token": "t1", "timestamp": "1767225600", "signature": signed, "recipient": CORE}
    headers = {"Authorization": "Basic " + base64.b64encode(SECRET.encode()).decode()}
    form["message-headers"] = json.dumps([["X-Mailgun-Variables", json.dumps(metadata(row.pk))]])
    answer = Client(headers=headers).post("/anymail/mailgun/tracking/", form | said | metadata(row.pk))
    assert answer.status_code == 200
    assert kinds() == [kind]


def test_the_key_that_signs_may_be_another_than_that_of_the_api(settings: Any) -> None:
    settings.EMAIL_URL += "?webhook_key=s1gn"
    assert tell("mailgun", events.mailgun("delivered", {}, key=KEY)).status_code == 400
    assert tell("mailgun", events.mailgun("delivered", {}, key="s1gn")).status_code == 200


def test_any_of_several_accounts_may_have_signed() -> None:
    account = Account(name="second")
    account.secrets = {"url": "anymail+mailgun://0ther@mg2.example.org"}
    account.save()
    row = sent()
    assert tell("mailgun", events.mailgun("complained", metadata(row.pk), key="0ther")).status_code == 200
    assert kinds() == ["complaint"]


def test_a_service_without_an_account_or_without_webhooks_is_not_there(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    for esp in ("mailgun", "postal", "unisender_go", "scaleway", "nobody"):
        assert tell(esp, {}).status_code == 404


@pytest.mark.filterwarnings("ignore:django-anymail has dropped")
@pytest.mark.parametrize(
    ("esp", "make", "kind"),
    some_now(
        [
            (
                "sendgrid",
                lambda m: events.sendgrid("bounce", m, type="bounce", reason="550 5.1.1 unknown"),
                "hard",
            ),
            (
                "sendgrid",
                lambda m: events.sendgrid("bounce", m, type="blocked", reason="550 5.7.1 spam"),
                "policy",
            ),
            ("sendgrid", lambda m: events.sendgrid("dropped", m, reason="Bounced Address"), "hard"),
            ("brevo", lambda m: events.brevo("hard_bounce", m, reason="no mailbox"), "hard"),
            ("brevo", lambda m: events.brevo("soft_bounce", m, reason="later"), "soft"),
            ("brevo", lambda m: events.brevo("hard_bounce", m, reason="554 blocked using a list"), "policy"),
            ("brevo", lambda m: events.brevo("hard_bounce", m, reason="552 mailbox full"), "soft"),
            ("brevo", lambda m: events.brevo("blocked", m), "policy"),
            ("brevo", lambda m: events.brevo("spam", m), "complaint"),
            ("resend", lambda m: _resend(m, "Permanent", "a hard bounce message"), "hard"),
            ("resend", lambda m: _resend(m, "Transient", "a bounce message, the inbox was full"), "soft"),
        ]
    ),
)
def test_each_services_words_are_understood(esp: str, make: Any, kind: str) -> None:
    row = sent()
    for _ in range(2):
        assert tell(esp, make(metadata(row.pk))).status_code == 200
    assert kinds() == [kind]


def _resend(told: dict[str, str], type_: str, message: str) -> dict[str, Any]:
    return events.resend("email.bounced", told, bounce={"type": type_, "message": message})


@pytest.mark.parametrize(
    ("type_", "object_", "kind"),
    [("hard_bounced", "recipient_bounce", "hard"), ("soft_bounced", "recipient_bounce", "soft")],
)
def test_a_service_that_knows_no_metadata_names_the_message_and_its_reader(
    type_: str, object_: str, kind: str, settings: Any
) -> None:
    settings.EMAIL_URL = "anymail+mailersend://k3y@example.org?webhook_key=s1gn"
    sent(remote_id="m-1")
    sent("bob@example.org", remote_id="m-2")
    wrong = events.mailersend(type_, message_id="m-2", address=CORE, object=object_, reason="no")
    assert tell_mailersend(wrong) == 200
    assert kinds() == []
    right = events.mailersend(type_, message_id="m-1", address="Ada@Example.org", object=object_, reason="no")
    assert tell_mailersend(right) == 200
    assert kinds() == [kind]


def test_an_address_alone_proves_nothing(settings: Any) -> None:
    settings.EMAIL_URL = "anymail+mailersend://k3y@example.org?webhook_key=s1gn"
    sent(remote_id="")
    for message_id in ("", None):
        event = events.mailersend("hard_bounced", message_id=message_id, address=CORE, object="x")  # type: ignore[arg-type]
        assert tell_mailersend(event) == 200
    assert kinds() == []


@pytest.mark.parametrize(
    ("esp", "body", "reason"),
    [
        ("mailgun", events.mailgun("delivered", {}, key="another"), "signature does not fit"),
        ("ses", {"Type": "Notification"}, "match the service"),
        ("postmark", {"FromFull": {}}, "incoming mail"),
        ("brevo", [], "cannot be read"),
        ("scaleway", {}, "not understood"),
        ("nobody", {}, "no mail service"),
    ],
)
def test_a_refused_call_with_the_right_secret_is_logged_and_remembered(
    esp: str, body: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert tell(esp, body, secret="").status_code == 401
    assert last_refused_call(esp) is None
    assert tell(esp, body).status_code in (400, 404)
    at, why = last_refused_call(esp) or (None, "")
    assert at is not None
    assert reason in why
    assert f"a webhook call of a mail service was refused: {why}" in caplog.messages
    assert SECRET not in caplog.text


def test_nonsense_with_the_right_secret_is_no_answer_of_ours() -> None:
    nonsense: list[Any] = [{}, [], "x", {"RecordType": {"a": 1}}, {"Metadata": "x", "RecordType": "Bounce"}]
    for body in nonsense:
        assert tell("postmark", body).status_code in (200, 400, 500)
    assert kinds() == []


@pytest.mark.parametrize("esp", some_now(sorted(SERVICES)))
def test_a_malformed_body_is_refused_whatever_it_is(esp: str) -> None:
    headers = {"Authorization": "Basic " + base64.b64encode(SECRET.encode()).decode()}
    client = Client(headers=headers, raise_request_exception=False)
    for body in MALFORMED:
        for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
            answer = client.post(f"/anymail/{esp}/tracking/", body, content_type=kind)
            assert answer.status_code in (200, 400, 404, 405), (body[:60], kind)
    assert not Bounce.objects.exists()


def test_trouble_of_our_own_is_no_fault_of_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service must retry."""

    def away(*_: Any, **__: Any) -> None:
        raise ValueError("away")

    monkeypatch.setattr("anymail.signals.tracking.send", away)
    assert tell("postmark", events.postmark("HardBounce", metadata(sent().pk))).status_code == 500
