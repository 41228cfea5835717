"""Twilio's webhooks: readers' answers, and message states."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from channels.rules.sms_words import Wish, is_answered_by_twilio, wish_of
from channels.sms.message import is_signed, signature_of
from common.clock import utcnow
from delivery.bounces.sms_replies import start, stop
from delivery.models import Delivery, Receipt
from subscriptions.models import Destination, Subscribable, Suppression
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.suppression import suppress
from tests.delivery.sms.texting import ACCOUNT, NUMBER, SITE, a_newsletter, a_reader, an_account, tell
from tests.examples import some_now
from tests.factories import DeliveryFactory, LaneFactory
from tests.servers.services.twilio import TOKEN

pytestmark = pytest.mark.django_db
INBOUND = f"/sms/{ACCOUNT}/inbound/"


def says(client: Client, body: str, number: str = NUMBER, **more: str) -> Any:
    return tell(client, INBOUND, {"From": number, "To": "+15005550006", "Body": body, **more})


def test_the_signature_is_as_twilio_computes_it() -> None:
    """The example of https://www.twilio.com/docs/usage/security."""
    form = {
        "CallSid": ["CA1234567890ABCDE"], "Caller": ["+12349013030"], "Digits": ["1234"],
        "From": ["+12349013030"], "To": ["+18005551212"],
    }  # fmt: skip
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    assert signature_of("12345", url, form) == "0/KCTR6DLpKmkAf8muzZqo1nDgQ="
    with_port = "https://mycompany.com:443/myapp.php?foo=1&bar=2"
    assert is_signed("12345", url, form, signature_of("12345", with_port, form))
    assert not is_signed("", url, form, signature_of("", url, form))


@pytest.mark.parametrize("signed", some_now(["", "0/KCTR6DLpKmkAf8muzZqo1nDgQ=", "ü", "A" * 5000]))
@pytest.mark.parametrize("path", some_now([INBOUND, f"/sms/{ACCOUNT}/status/1/", "/sms/nobody/inbound/"]))
def test_a_forged_signature_does_nothing(
    client: Client, newsletter: Subscribable, path: str, signed: str
) -> None:
    reader = a_reader(newsletter)
    answer = tell(client, path, {"From": NUMBER, "Body": "STOP"}, signed=signed)
    assert answer.status_code == 403
    reader.refresh_from_db()
    assert reader.status == "confirmed"


def test_a_signature_is_good_for_its_own_form_and_address(client: Client, newsletter: Subscribable) -> None:
    form = {"From": NUMBER, "Body": "HELP"}
    signed = signature_of(TOKEN, f"{SITE}{INBOUND}", {name: [value] for name, value in form.items()})
    assert tell(client, INBOUND, {**form, "Body": "STOP"}, signed=signed).status_code == 403
    assert tell(client, INBOUND + "?a=1", form, signed=signed).status_code == 403
    assert client.get(INBOUND).status_code == 405


def test_a_call_to_the_sites_former_address_is_heeded(
    client: Client, newsletter: Subscribable, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = settings.FORMER_HOSTS = ["old.example.org"]
    reader, form = a_reader(newsletter), {"From": NUMBER, "Body": "STOP"}
    url = f"https://old.example.org{INBOUND}"
    signed = signature_of(TOKEN, url, {name: [value] for name, value in form.items()})
    headers = {"X-Twilio-Signature": signed, "Host": "old.example.org"}
    assert client.post(INBOUND, form, headers=headers, secure=True).status_code == 200
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"


def test_what_is_longer_than_any_message_is_not_read(client: Client, newsletter: Subscribable) -> None:
    assert says(client, "STOP " + "x" * 70_000).status_code == 413


@pytest.mark.parametrize(
    "word", some_now(["STOP", " stop. ", "Stopall", "UNSUBSCRIBE", "cancel", "END", "Quit", "Stop it"])
)
def test_stop_ends_all_of_the_account_and_nothing_is_sent_there_any_more(
    client: Client, newsletter: Subscribable, word: str
) -> None:
    an_account("wasps")
    first = a_reader(newsletter)
    second = a_reader(a_newsletter(), destination=first.destination)
    others = a_reader(a_newsletter(account="wasps"), destination=first.destination)
    for _ in range(2):
        answer = says(client, word)
        assert answer.status_code == 200
        assert "<Response></Response>" in answer.content.decode()  # Twilio sends the reply
    for row in (first, second, others):
        row.refresh_from_db()
    assert [first.status, second.status, others.status] == ["unsubscribed", "unsubscribed", "confirmed"]
    assert Suppression.objects.get().core == NUMBER


@pytest.mark.parametrize("word", ["Abmelden", "ARRÊT", "baja", "sair"])
def test_words_that_twilio_does_not_know_are_answered_here(
    client: Client, newsletter: Subscribable, word: str
) -> None:
    a_reader(newsletter, language="de")
    said = says(client, word).content.decode()
    assert "<Message>" in said
    assert "START" in said
    assert Suppression.objects.exists()


@pytest.mark.parametrize("body", ["", "Thank you", "nonstop", "I will stop by", "END of story, friends"])
def test_other_words_change_nothing(client: Client, newsletter: Subscribable, body: str) -> None:
    a_reader(newsletter)
    assert "<Response></Response>" in says(client, body).content.decode()
    assert not Suppression.objects.exists()


def test_an_unknown_number_that_says_stop_is_never_written_to(
    client: Client, newsletter: Subscribable
) -> None:
    says(client, "STOP", "+4915100000000")
    says(client, "STOP", "12345")
    assert list(Suppression.objects.values_list("core", flat=True)) == ["+4915100000000"]


def test_start_gives_back_what_stop_took_and_nothing_else(client: Client, newsletter: Subscribable) -> None:
    first = a_reader(newsletter)
    left_before = a_reader(a_newsletter(), destination=first.destination)
    leave(subscription=left_before, now=utcnow() - timedelta(hours=1), by_reader=True)
    says(client, "STOP")
    says(client, "START")
    first.refresh_from_db()
    left_before.refresh_from_db()
    assert (first.status, left_before.status) == ("confirmed", "unsubscribed")
    assert not Suppression.objects.exists()


def test_after_a_day_start_lets_the_number_be_written_to_and_subscribes_nobody(
    newsletter: Subscribable,
) -> None:
    reader = a_reader(newsletter)
    then = utcnow() - timedelta(days=2)
    assert stop(account=ACCOUNT, number=NUMBER, now=then) == 1
    assert start(account=ACCOUNT, number=NUMBER, now=utcnow()) == 0
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"
    assert not Suppression.objects.exists()


def test_start_lifts_no_suppression_of_an_admin(client: Client, newsletter: Subscribable) -> None:
    suppress(kind="sms", core=NUMBER, reason="By hand", now=utcnow())
    says(client, "STOP")
    says(client, "UNSTOP")
    assert Suppression.objects.get().reason == "By hand"


def test_start_enables_a_number_that_had_said_stop_to_twilio(
    client: Client, newsletter: Subscribable
) -> None:
    to = a_reader(newsletter).destination
    Destination.objects.update(
        disabled_at=timezone.now(), disabled_reason="api.twilio.com answered 400 (21610)"
    )
    says(client, "START")
    to.refresh_from_db()
    assert to.disabled_at is None


def test_help_is_answered_in_a_sentence(client: Client, newsletter: Subscribable) -> None:
    a_reader(newsletter)
    said = says(client, "help").content.decode()
    assert "<Message>" in said
    assert SITE in said
    # Accounts with their own reply have Twilio send it.
    assert "<Message>" not in says(client, "help", OptOutType="HELP").content.decode()


def test_words_are_read_as_people_write_them() -> None:
    assert wish_of("¡Alto!") is Wish.STOP
    assert wish_of("stop all") is Wish.STOP
    assert wish_of("opt-out") is Wish.STOP
    assert wish_of("whatever", "STOP") is Wish.STOP
    assert wish_of("Hilfe") is Wish.HELP
    assert wish_of("\0" * 10_000) is None
    assert is_answered_by_twilio("STOP")
    assert not is_answered_by_twilio("Ende")


def a_message(newsletter: Subscribable) -> Delivery:
    lane = LaneFactory(kind="sms", account=ACCOUNT)
    reader = a_reader(newsletter)
    row: Delivery = DeliveryFactory(
        lane=lane, state="sent", remote_id="SM1", subscription=reader, sent_at=timezone.now(),
        issue__subscribable=newsletter, destination=reader.destination,
    )  # fmt: skip
    return row


def status(client: Client, row: Delivery, said: str, code: str = "", sid: str = "SM1") -> Any:
    form = {"MessageSid": sid, "MessageStatus": said, **({"ErrorCode": code} if code else {})}
    return tell(client, f"/sms/{ACCOUNT}/status/{row.pk}/", form)


def test_what_became_of_a_message_is_kept_in_any_order(client: Client, newsletter: Subscribable) -> None:
    row = a_message(newsletter)
    for said in ("queued", "delivered", "sent", "delivered", "undelivered", "nonsense"):
        assert status(client, row, said).status_code == 204
    assert Receipt.objects.get().status == "delivered"


@pytest.mark.parametrize(
    ("code", "disables"), [("30005", True), ("30006", True), ("21610", True), ("30003", False)]
)
def test_a_number_where_nothing_will_arrive_is_disabled_once(
    client: Client, newsletter: Subscribable, code: str, disables: bool
) -> None:
    row = a_message(newsletter)
    status(client, row, "undelivered", code)
    to = Destination.objects.get(pk=row.destination_id)
    assert (to.disabled_at is not None) == disables
    assert Receipt.objects.get().code == code
    # An admin enables it, and Twilio reports the same once more.
    Destination.objects.update(disabled_at=None)
    status(client, row, "undelivered", code)
    assert Destination.objects.get(pk=row.destination_id).disabled_at is None


def test_what_is_about_another_message_is_not_believed(client: Client, newsletter: Subscribable) -> None:
    row = a_message(newsletter)
    status(client, row, "failed", "30005", sid="SM2")
    Delivery.objects.filter(pk=row.pk).update(lane=LaneFactory(kind="sms", account="other"))
    status(client, row, "failed", "30005")
    assert not Receipt.objects.exists()
