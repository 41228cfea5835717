"""Phone numbers are personal data: shown to their owner, erased completely, and in no log."""

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from channels.base import LaneFacts, Permanent
from channels.sms.channel import SmsChannel, message_to
from channels.sms.message import TextMessage
from common.clock import utcnow
from common.ports.personal_data import sources
from delivery.models import Delivery, Receipt
from subscriptions.models import Destination, SignUpCode, Subscribable, Suppression
from subscriptions.subscribers.notices import send_code
from subscriptions.subscribers.suppression import suppress
from tests.delivery.sms.texting import ACCOUNT, NUMBER, a_reader
from tests.factories import DeliveryFactory, LaneFactory
from tests.servers.services.twilio import VALUES, Twilio

pytestmark = pytest.mark.django_db


@pytest.fixture
def held(newsletter: Subscribable) -> Destination:
    """Create every kind of data about a number."""
    reader = a_reader(newsletter)
    lane = LaneFactory(kind="sms", account=ACCOUNT)
    row = DeliveryFactory(
        lane=lane, subscription=reader, issue__subscribable=newsletter, state="sent", domain="",
        last_error=f"said of {NUMBER}",
    )  # fmt: skip
    Receipt.objects.create(delivery=row, status="undelivered", code="30005")
    with transaction.atomic():
        send_code([reader], now=utcnow(), language="de")
    suppress(kind="sms", core=NUMBER, reason="Answered STOP.", now=utcnow())
    to: Destination = reader.destination
    return to


def test_its_owner_is_shown_what_is_held(held: Destination) -> None:
    said = json.dumps({one.key: list(one.query(held)) for one in sources}, default=str, ensure_ascii=False)
    assert NUMBER in said
    assert "Answered STOP." in said
    assert '"undelivered"' in said
    assert {one.key for one in sources if one.count(held)} >= {"address_record", "subscriptions", "mails"}


def test_erasing_leaves_nothing_but_that_nothing_may_be_sent(held: Destination) -> None:
    call_command("erase_destination", "+49 1512 3456789")
    held.refresh_from_db()
    assert held.erased_at is not None
    assert NUMBER not in f"{held.core} {held.label} {held.config}"
    assert not Receipt.objects.exists()
    assert not SignUpCode.objects.exists()
    assert not Delivery.objects.filter(last_error__contains=NUMBER).exists()
    assert Suppression.objects.get().core == NUMBER


def test_the_list_of_those_not_to_write_to_takes_a_number_as_people_write_it(held: Destination) -> None:
    call_command("lift_suppression", "+49 (1512) 345-6789")
    assert not Suppression.objects.exists()


def test_no_number_is_in_what_twilio_says(twilio: Twilio) -> None:
    twilio.stopped.add(NUMBER)
    opened = SmsChannel(LaneFacts("sms", ACCOUNT, VALUES))
    attempt: dict[str, Any] = {"key": "k", "begun_at": None, "now": utcnow()}
    twilio_says = opened.send(message_to("+491512345", TextMessage("Bees")), **attempt)
    assert not isinstance(twilio_says, Permanent) or "491512345" not in twilio_says.text
    landline = opened.send(message_to("+4930901820", TextMessage("Bees")), **attempt)
    assert isinstance(landline, Permanent)
    assert "4930901820" not in landline.text
