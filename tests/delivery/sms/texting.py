"""A newsletter sent as text messages, by an account at the fake Twilio."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.test import Client

from common.clock import utcnow
from delivery.accounts.accounts import add_service_account
from delivery.engine.send_pass import send_due
from delivery.letters.notices import take_notices
from delivery.models import ServiceAccount
from subscriptions.models import Subscribable, Subscription
from tests.factories import DestinationFactory, SubscribableFactory, SubscriptionFactory
from tests.servers.services.twilio import VALUES, Twilio, signature

ACCOUNT, NUMBER, TYPED = "bees", "+4915123456789", "0151 23456789"
SITE = "https://letters.example"


def an_account(name: str = ACCOUNT) -> ServiceAccount:
    return add_service_account(kind="sms", name=name, values=VALUES, now=utcnow())


def a_newsletter(*, account: str = ACCOUNT, **changes: Any) -> Subscribable:
    options = {"account": account, "region": "DE", **changes.pop("options", {})}
    made: Subscribable = SubscribableFactory(channel="sms", options=options, **changes)
    return made


def a_reader(newsletter: Subscribable, number: str = NUMBER, **changes: Any) -> Subscription:
    """Return a confirmed reader."""
    to = changes.pop("destination", None) or DestinationFactory(
        kind="sms", core=number, label=number, config={"number": number, "region": "DE"}
    )
    made: Subscription = SubscriptionFactory(subscribable=newsletter, destination=to, **changes)
    return made


def go_out(now: datetime | None = None) -> None:
    """Send what waits."""
    moment = now or utcnow()
    take_notices(now=moment)
    send_due(clock=lambda: moment)


def bodies(twilio: Twilio) -> list[str]:
    return [str(one["body"]) for one in twilio.messages]


def code_in(text: str) -> str:
    found = re.search(r"\b\d{6}\b", text)
    assert found, text
    return found[0]


def tell(client: Client, path: str, form: Mapping[str, str], *, signed: str | None = None) -> Any:
    """Post to us as Twilio does."""
    sign = signature(f"{SITE}{path}", form) if signed is None else signed
    return client.post(path, dict(form), headers={"X-Twilio-Signature": sign})
