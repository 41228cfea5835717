"""What this app holds about an address, for `common.holdings`: mails, and what others were told."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import F
from django.utils.translation import gettext_lazy as _

from common.holdings import Holding, add_holding
from delivery.models import Attempt, Bounce, Delivery, MailboxMessage, WebhookCall
from delivery.services.erasing import (
    erase_attempts,
    erase_bounces,
    erase_calls,
    erase_kept,
    erase_mails,
)
from subscriptions.models import Destination

Rows = Iterator[Mapping[str, object]]
CHUNK = 1_000


def install() -> None:
    """Called once, when the app is ready."""
    for holding in (MAILS, ATTEMPTS, BOUNCES, KEPT, CALLS):
        add_holding(holding)


def mails(destination: Destination) -> Rows:
    """Every one; an issue with its title. (In its subject the reader's own words are holes.)"""
    own = ("kind", "state", "created_at", "sent_at", "last_error")
    title, newsletter = F("issue__title"), F("issue__subscribable__title")
    return _each(_mails(destination).order_by("-pk").values(*own, title=title, newsletter=newsletter))


def attempts(destination: Destination) -> Rows:
    return _each(_attempts(destination).order_by("-pk").values("at", "outcome", "status", "text"))


def bounces(destination: Destination) -> Rows:
    rows = _bounces(destination).order_by("-pk")
    return _each(rows.values("at", "kind", "status", "diagnostic", "recipient", "effect"))


def kept(destination: Destination) -> Rows:
    return _each(_kept(destination).order_by("-pk").values("stored_at", "subject"))


def calls(destination: Destination) -> Rows:
    rows = _calls(destination).order_by("-pk")
    return _each(rows.values("created_at", "kind", "state", "body", told=F("webhook__name")))


def _mails(destination: Destination) -> Any:
    return Delivery.objects.filter(destination=destination)


def _attempts(destination: Destination) -> Any:
    return Attempt.objects.filter(delivery__destination=destination)


def _bounces(destination: Destination) -> Any:
    return Bounce.objects.filter(destination=destination)


def _kept(destination: Destination) -> Any:
    return MailboxMessage.objects.filter(delivery__destination=destination)


def _calls(destination: Destination) -> Any:
    return WebhookCall.objects.filter(destination=destination)


def _each(rows: Any) -> Rows:
    return iter(rows.iterator(chunk_size=CHUNK))


MAILS = Holding(
    key="mails",
    title=_("Mails to you"),
    columns={
        "created_at": _("Written"),
        "kind": _("What"),
        "title": _("Title"),
        "state": _("What became of it"),
        "sent_at": _("Sent"),
    },
    rows=mails,
    count=lambda destination: _mails(destination).count(),
    erase=erase_mails,
    words={
        Delivery.Kind.ISSUE: _("a letter"),
        Delivery.Kind.CONFIRMATION: _("a request to confirm"),
        Delivery.Kind.WELCOME: _("a welcome"),
        Delivery.Kind.SIGN_IN: _("a sign-in link"),
        Delivery.Kind.FAREWELL: _("a farewell"),
        Delivery.Kind.ALERT: _("an alert"),
        Delivery.Kind.TEST: _("a test"),
        Delivery.State.QUEUED: _("waits to be sent"),
        Delivery.State.SENDING: _("is being sent"),
        Delivery.State.SENT: _("sent"),
        Delivery.State.STORED: _("kept, not sent"),
        Delivery.State.DEFERRED: _("is tried again later"),
        Delivery.State.FAILED: _("did not arrive"),
        Delivery.State.HELD: _("held back"),
        Delivery.State.CANCELLED: _("was not sent"),
    },
)
ATTEMPTS = Holding(
    key="failed_attempts",
    title=_("Attempts that failed"),
    columns={"at": _("When"), "status": _("Code"), "text": _("In the server’s words")},
    rows=attempts,
    count=lambda destination: _attempts(destination).count(),
    erase=erase_attempts,
)
BOUNCES = Holding(
    key="bounces",
    title=_("What came back"),
    columns={"at": _("When"), "kind": _("What"), "diagnostic": _("In the server’s words")},
    rows=bounces,
    count=lambda destination: _bounces(destination).count(),
    erase=erase_bounces,
    words={
        Bounce.Kind.COMPLAINT: _("marked as spam"),
        Bounce.Kind.HARD: _("does not exist"),
        Bounce.Kind.SOFT: _("not now"),
        Bounce.Kind.POLICY: _("not from us"),
        Bounce.Kind.DELAYED: _("delayed"),
        Bounce.Kind.UNKNOWN: _("not understood"),
    },
)
KEPT = Holding(
    key="kept_letters",
    title=_("Letters kept here instead of being sent"),
    columns={"stored_at": _("Since"), "subject": _("Subject")},
    rows=kept,
    count=lambda destination: _kept(destination).count(),
    erase=erase_kept,
)
CALLS = Holding(
    key="told_to_other_programs",
    title=_("What other programs of this site were told"),
    columns={"created_at": _("When"), "kind": _("What"), "told": _("Which program")},
    rows=calls,
    count=lambda destination: _calls(destination).count(),
    erase=erase_calls,
)
