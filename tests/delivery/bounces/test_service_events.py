"""Each documented event of each mail service: the effect of a call of our webhook."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.urls import path

from channels.email.esp.message_form import metadata
from delivery.bounces.parsing import read_report
from delivery.bounces.record import IGNORED
from delivery.bounces.service_verdicts import VERDICTS
from delivery.models import Bounce, Delivery
from delivery.views.esp_webhook import esp_tracking
from subscriptions.models import Subscription, Suppression
from tests.delivery.bounces import events
from tests.delivery.bounces import service_tables as tables
from tests.delivery.bounces.service_tables import ADA, Event
from tests.factories import NOW, DeliveryFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.urls(__name__),
    pytest.mark.filterwarnings("ignore:django-anymail has dropped"),
]
urlpatterns = [path("anymail/<slug:esp>/tracking/", esp_tracking)]

# By the name in EMAIL_URL: the builder of events, and their table.
SERVICES: dict[str, tuple[Any, list[tuple[Event, str]]]] = {
    "ses": (events.ses, tables.SES),
    "brevo": (events.brevo, tables.BREVO),
    "mailersend": (None, tables.MAILERSEND),
    "mailgun": (events.mailgun, tables.MAILGUN),
    "mailjet": (events.mailjet, tables.MAILJET),
    "mailtrap": (events.mailtrap, tables.MAILTRAP),
    "mandrill": (events.mandrill, tables.MANDRILL),
    "postal": (None, tables.POSTAL),
    "postmark": (events.postmark, tables.POSTMARK),
    "resend": (events.resend, tables.RESEND),
    "sendgrid": (events.sendgrid, tables.SENDGRID),
    "sparkpost": (events.sparkpost, tables.SPARKPOST),
    "unisender-go": (events.unisender, tables.UNISENDER),
}
URLS = {
    "mailgun": f"anymail+mailgun://{events.KEY}@mg.example.org",
    "mailersend": f"anymail+mailersend://api@example.org?webhook_key={events.KEY}",
    "mandrill": f"anymail+mandrill://api@example.org?webhook_key={events.KEY}",
    "unisender-go": f"anymail+unisender-go://{events.KEY}@example.org?api_url=https://go.example/",
}
CASES = [
    pytest.param(esp, event, effect, id=f"{esp}-{number}-{event[0]}-{effect}")
    for esp, (_, table) in SERVICES.items()
    for number, (event, effect) in enumerate(table)
]


def sent() -> Delivery:
    """Return a letter that a service accepted an hour ago."""
    row: Delivery = DeliveryFactory(
        state="sent",
        sent_at=NOW - timedelta(hours=1),
        subscription__destination__core=ADA,
        subscription__status=Subscription.Status.CONFIRMED,
        remote_id="m-1",
    )
    return row


def built(esp: str, event: Event, row: Delivery) -> Any:
    type_, more = event
    if esp == "ses":
        return events.ses(type_, metadata(row.pk), more)
    if esp == "mailersend":
        return events.mailersend(type_, message_id="m-1", address=ADA, **more)
    if esp == "postal":
        return events.postal(type_, "m-1", **more)
    if esp == "mailgun":
        return events.mailgun(type_, metadata(row.pk), key=events.KEY, **more)
    return SERVICES[esp][0](type_, metadata(row.pk), **more)


def effect_of(row: Delivery) -> str:
    """Return the effect on the reader: a kind of bounce, left, or nothing."""
    kinds = list(Bounce.objects.values_list("kind", flat=True))
    assert row.subscription is not None
    row.subscription.refresh_from_db()
    has_left = row.subscription.status == Subscription.Status.UNSUBSCRIBED
    is_suppressed = Suppression.objects.exists()
    assert is_suppressed == (kinds in (["hard"], ["complaint"]))
    assert has_left == (kinds == ["complaint"]) or not kinds
    return kinds[0] if kinds else "leaves" if has_left else "nothing"


@pytest.mark.parametrize(("esp", "event", "effect"), CASES)
def test_each_event_has_the_effect_of_what_it_says(
    esp: str, event: Event, effect: str, settings: Any
) -> None:
    settings.ANYMAIL_WEBHOOK_SECRET = events.SECRET
    settings.EMAIL_URL = URLS.get(esp, "mailbox:")
    if esp == "postal":
        key = quote(events.postal_public_key(), safe="")
        settings.EMAIL_URL = f"anymail+postal://k@example.org?api_url=https://p.example&webhook_key={key}"
    row = sent()
    for _ in range(2):
        assert events.tell_signed(esp, built(esp, event, row)).status_code == 200
    assert effect_of(row) == effect


@pytest.mark.parametrize(("event", "effect"), tables.SES)
def test_amazon_ses_means_the_same_by_mail(event: Event, effect: str) -> None:
    notice = json.loads(events.ses(event[0], {}, event[1])["Message"])
    raw = f"From: Amazon <no-reply@sns.amazonaws.com>\nSubject: x\n\n{json.dumps(notice)}\n\n--\nx\n"
    kinds = [finding.kind for finding in read_report(raw.encode()).findings]
    assert [kind.value for kind in kinds if kind not in IGNORED] == (
        [effect] if effect not in ("nothing", "leaves") else []
    )


def test_the_table_has_every_service_that_anymail_hears() -> None:
    assert len(SERVICES) == len(VERDICTS)
