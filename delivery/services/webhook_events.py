"""Taking what mail services tell of our letters: to the ledger's bounces, and to who wants to leave."""

import logging
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from common import kinds
from common.clock import utcnow
from common.kinds import InvalidDestination
from common.secrets import opened
from delivery.bounces.metadata import delivery_of
from delivery.bounces.webhooks import digest, told
from delivery.channels.email.esp.settings import EspSettings
from delivery.channels.email.transport import parse_email_url
from delivery.models import Account, Delivery
from delivery.services.bouncing import take_finding
from subscriptions.services.leaving import leave

log = logging.getLogger(__name__)


def on_tracking(sender: Any, event: Any, esp_name: str, **_: Any) -> None:
    """Receives anymail's signal. What goes wrong with the database is raised: the service tries again."""
    said = told(event)
    if said.finding is None and not said.leaves:
        return
    delivery = _delivery(event)
    if delivery is None:
        log.info("a mail service told of a letter that is not ours", extra={"event": event.event_type})
    elif said.finding is not None:
        known = digest(event, esp_name, delivery.pk)
        take_finding(delivery=delivery, finding=said.finding, digest=known, now=utcnow())
    elif delivery.subscription is not None:
        leave(subscription=delivery.subscription, now=utcnow())


def accounts_with(esp: str) -> Iterator[EspSettings]:
    """The accounts with that service: EMAIL_URL's and the others. Those that cannot be read are left out."""
    for url in (settings.EMAIL_URL, *_urls()):
        try:
            target = parse_email_url(url)
        except ImproperlyConfigured:
            continue
        if isinstance(target, EspSettings) and target.esp == esp:
            yield target


def _urls() -> Iterator[str]:
    for account in Account.objects.order_by("pk"):
        try:
            yield opened(account.secrets).get("url", "")
        except ValueError:
            continue


def _delivery(event: Any) -> Delivery | None:
    """By what we sent along. Two services send nothing along: there by the message's id, which only they
    and we know, and the address it went to."""
    rows = Delivery.objects.select_related("destination", "subscription").defer("context")
    rows = rows.filter(lane__kind="email")
    pk = delivery_of(event.metadata if isinstance(event.metadata, dict) else {})
    if pk is not None:
        return rows.filter(pk=pk).first()
    core = _core(event.recipient)
    if not core or not event.message_id:
        return None
    remote_id = str(event.message_id)[:255]
    return rows.filter(destination__kind="email", destination__core=core, remote_id=remote_id).first()


def _core(address: object) -> str:
    try:
        return kinds.get("email").parse_destination({"email": str(address or "")}).core
    except InvalidDestination:
        return ""
