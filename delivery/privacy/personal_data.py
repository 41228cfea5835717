"""Personal data of deliveries and bounces, for `common.ports.personal_data`.

Their rows stay, without words and person; so do addresses that they need.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from common.ports.personal_data import PersonalDataSource, add_holding
from delivery.models import Attempt, Bounce, Delivery, Issue, MailboxMessage, Receipt, RemotePost, WebhookCall
from delivery.models.delivery import FORGOTTEN_CONTEXT, NOT_FINISHED
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.privacy.erase import ERASED

QUEUED_OR_HELD = ("queued", "deferred", "held")
# Erased later, after the worker has finished.
SENDING = Delivery.State.SENDING
WORDLESS = {"last_error": "", "remote_id": "", "language": "", "domain": ""}


def erase_mails(destinations: Sequence[Destination], now: datetime) -> int:
    """Erase recipients and words of mails, and cancel waiting ones. Issues stay counted."""
    # Wait for issues being published to these people: a letter for a deleted subscription would fail the
    # whole issue at its commit.
    theirs = Subscribable.objects.filter(
        subscriptions__in=Subscription.objects.confirmed().filter(destination__in=destinations)
    )
    newsletters = [one.pk for one in lock_for_membership(Subscribable.objects.filter(pk__in=theirs))]
    drafts = Issue.objects.filter(subscribable__in=newsletters, published_at=None, cancelled_at=None)
    list(drafts.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    words = ~Q(last_error__in=("", ERASED)) | ~Q(remote_id="") | ~Q(language="") | ~Q(domain="")
    is_telling = words | (Q(issue=None) & ~Q(context=FORGOTTEN_CONTEXT))
    every = Delivery.objects.filter(destination__in=destinations)
    telling = every.exclude(state=SENDING).filter(is_telling | Q(state__in=QUEUED_OR_HELD))
    # In the order of recording outcomes.
    pks = list(telling.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).exclude(state=SENDING)
    rows.filter(issue=None).exclude(context=FORGOTTEN_CONTEXT).update(context=FORGOTTEN_CONTEXT)
    waiting = rows.filter(state__in=QUEUED_OR_HELD)
    cancelled = set(waiting.values_list("pk", flat=True))
    waiting.update(**WORDLESS | {"state": Delivery.State.CANCELLED, "held_for": "", "last_error": ERASED})
    rows.exclude(pk__any_of=frozenset(cancelled)).exclude(last_error=ERASED).update(**WORDLESS)
    # Parts of these deliveries.
    RemotePost.objects.filter(delivery__destination__in=destinations).delete()
    Receipt.objects.filter(delivery__destination__in=destinations).delete()
    return len(pks)


def erase_attempts(destinations: Sequence[Destination], now: datetime) -> int:
    """Delete attempts, which contain only words."""
    return Attempt.objects.filter(delivery__destination__in=destinations).delete()[0]


def erase_kept(destinations: Sequence[Destination], now: datetime) -> int:
    """Delete letters stored for lack of a mail server."""
    return MailboxMessage.objects.filter(delivery__destination__in=destinations).delete()[0]


def erase_bounces(destinations: Sequence[Destination], now: datetime) -> int:
    """Keep bounces for rules that count them, without words.

    Includes unproven reports that name an address.
    """
    named = Q(destination__in=destinations)
    for one in destinations:
        named |= Q(destination=None, recipient__iexact=one.core) | Q(
            destination=None, recipient__iexact=one.label
        )
    rows: QuerySet[Bounce] = Bounce.objects.filter(named)
    rows.filter(held=True).update(held=False, effect=ERASED)
    telling = rows.exclude(diagnostic="", recipient="", domain="")
    return telling.update(diagnostic="", recipient="", domain="")


def erase_calls(destinations: Sequence[Destination], now: datetime) -> int:
    """Delete other programs' calls."""
    return WebhookCall.objects.filter(destination__in=destinations).delete()[0]


# A QuerySet of dicts.
Query = Any


def install() -> None:
    """Called once the app is ready."""
    for holding in (MAIL_SOURCE, ATTEMPT_SOURCE, BOUNCE_SOURCE, KEPT_LETTER_SOURCE, CALL_SOURCE):
        add_holding(holding)


def mail_rows(destination: Destination) -> Query:
    """Return all mails. Stored subjects have placeholders for a reader's words, so titles are used."""
    own = ("kind", "state", "created_at", "sent_at", "last_error")
    title, newsletter = F("issue__title"), F("issue__subscribable__title")
    return (
        Delivery.objects.filter(destination=destination)
        .order_by("-pk")
        .values(*own, title=title, newsletter=newsletter, told_later=F("receipt__status"))
    )


def attempt_rows(destination: Destination) -> Query:
    return (
        Attempt.objects.filter(delivery__destination=destination)
        .order_by("-pk")
        .values("at", "outcome", "status", "text")
    )


def bounce_rows(destination: Destination) -> Query:
    rows = Bounce.objects.filter(destination=destination).order_by("-pk")
    return rows.values("at", "kind", "status", "diagnostic", "recipient", "effect")


def kept_letter_rows(destination: Destination) -> Query:
    return (
        MailboxMessage.objects.filter(delivery__destination=destination)
        .order_by("-pk")
        .values("stored_at", "subject")
    )


def call_rows(destination: Destination) -> Query:
    rows = WebhookCall.objects.filter(destination=destination).order_by("-pk")
    return rows.values("created_at", "kind", "state", "body", told=F("webhook__name"))


MAIL_SOURCE = PersonalDataSource(
    key="mails",
    title=_("Mails to you"),
    columns={
        "created_at": _("Written"),
        "kind": _("What"),
        "title": _("Title"),
        "state": _("What became of it"),
        "sent_at": _("Sent"),
    },
    query=mail_rows,
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
ATTEMPT_SOURCE = PersonalDataSource(
    key="failed_attempts",
    title=_("Attempts that failed"),
    columns={"at": _("When"), "status": _("Code"), "text": _("In the server’s words")},
    query=attempt_rows,
    erase=erase_attempts,
)
BOUNCE_SOURCE = PersonalDataSource(
    key="bounces",
    title=_("What came back"),
    columns={"at": _("When"), "kind": _("What"), "diagnostic": _("In the server’s words")},
    query=bounce_rows,
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
KEPT_LETTER_SOURCE = PersonalDataSource(
    key="kept_letters",
    title=_("Letters kept here instead of being sent"),
    columns={"stored_at": _("Since"), "subject": _("Subject")},
    query=kept_letter_rows,
    erase=erase_kept,
)
CALL_SOURCE = PersonalDataSource(
    key="told_to_other_programs",
    title=_("What other programs of this site were told"),
    columns={"created_at": _("When"), "kind": _("What"), "told": _("Which program")},
    query=call_rows,
    erase=erase_calls,
)


def needed(destinations: Sequence[int]) -> set[int]:
    """Return destinations with an issue, an unfinished mail or a report."""
    letters = Delivery.objects.filter(Q(issue__isnull=False) | Q(state__in=NOT_FINISHED))
    written = letters.filter(destination__in=destinations).values_list("destination_id", flat=True)
    reported = Bounce.objects.filter(destination__in=destinations).values_list("destination_id", flat=True)
    return {*written, *filter(None, reported)}
