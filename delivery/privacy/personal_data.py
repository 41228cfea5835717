"""Personal data of deliveries and bounces, for `common.ports.personal_data`.

Their rows stay, without words and person; so do addresses that they need.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from common.ports.personal_data import HeldRows, by
from delivery.models import Attempt, Bounce, Delivery, Issue, MailboxMessage, Receipt, RemotePost, WebhookCall
from delivery.models.delivery import FORGOTTEN_CONTEXT, NOT_FINISHED
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.privacy.erase import ERASED

QUEUED_OR_HELD = ("queued", "deferred", "held")
# Erased later, after the worker has finished.
IS_SENDING = Delivery.State.SENDING
BY_DESTINATION, BY_DELIVERY = by("destination"), by("delivery__destination")
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
    telling = every.exclude(state=IS_SENDING).filter(is_telling | Q(state__in=QUEUED_OR_HELD))
    # In the order of recording outcomes.
    pks = list(telling.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).exclude(state=IS_SENDING)
    rows.filter(issue=None).exclude(context=FORGOTTEN_CONTEXT).update(context=FORGOTTEN_CONTEXT)
    waiting = rows.filter(state__in=QUEUED_OR_HELD)
    cancelled = set(waiting.values_list("pk", flat=True))
    waiting.update(**WORDLESS | {"state": Delivery.State.CANCELLED, "held_for": "", "last_error": ERASED})
    rows.exclude(pk__any_of=frozenset(cancelled)).exclude(last_error=ERASED).update(**WORDLESS)
    # Parts of these deliveries.
    RemotePost.objects.filter(delivery__destination__in=destinations).delete()
    Receipt.objects.filter(delivery__destination__in=destinations).delete()
    return len(pks)


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


SOURCES = (
    HeldRows(
        "mails",
        # An issue with its title: in its stored subject the reader's own words are placeholders.
        Delivery.objects.order_by("-pk").values(
            "kind",
            "state",
            "created_at",
            "sent_at",
            "last_error",
            title=F("issue__title"),
            newsletter=F("issue__subscribable__title"),
            told_later=F("receipt__status"),
        ),
        BY_DESTINATION,
        _("Emails to you"),
        {
            # Translators: the time when an email was written.
            "created_at": _("Written"),
            # Translators: the kind of an email, such as a welcome.
            "kind": _("What"),
            "title": _("Title"),
            "state": _("What became of it"),
            # Translators: the time when an email was sent.
            "sent_at": _("Sent"),
        },
        {
            Delivery.Kind.ISSUE: _("an email"),
            Delivery.Kind.CONFIRMATION: _("a request to confirm"),
            Delivery.Kind.WELCOME: _("a welcome"),
            Delivery.Kind.SIGN_IN: _("a sign-in link"),
            Delivery.Kind.FAREWELL: _("a farewell"),
            Delivery.Kind.ALERT: _("an alert"),
            Delivery.Kind.TEST: _("a test"),
            Delivery.State.QUEUED: _("waits to be sent"),
            Delivery.State.SENDING: _("is being sent"),
            # Translators: the state of an email.
            Delivery.State.SENT: _("sent"),
            Delivery.State.STORED: _("kept, not sent"),
            Delivery.State.DEFERRED: _("is tried again later"),
            Delivery.State.FAILED: _("did not arrive"),
            Delivery.State.HELD: _("held back"),
            Delivery.State.CANCELLED: _("was not sent"),
        },
        erase_mails,
    ),
    HeldRows(
        "failed_attempts",
        Attempt.objects.order_by("-pk").values("at", "outcome", "status", "text"),
        BY_DELIVERY,
        _("Attempts that failed"),
        {"at": _("When"), "status": _("Code"), "text": _("The server’s answer")},
    ),
    HeldRows(
        "bounces",
        Bounce.objects.order_by("-pk").values("at", "kind", "status", "diagnostic", "recipient", "effect"),
        BY_DESTINATION,
        _("What came back"),
        {"at": _("When"), "kind": _("What"), "diagnostic": _("The server’s answer")},
        {
            Bounce.Kind.COMPLAINT: _("marked as spam"),
            Bounce.Kind.HARD: _("does not exist"),
            Bounce.Kind.SOFT: _("not now"),
            Bounce.Kind.POLICY: _("not from us"),
            Bounce.Kind.DELAYED: _("delayed"),
            Bounce.Kind.UNKNOWN: _("not understood"),
        },
        erase_bounces,
    ),
    HeldRows(
        "kept_letters",
        MailboxMessage.objects.order_by("-pk").values("stored_at", "subject"),
        BY_DELIVERY,
        _("Emails kept here instead of being sent"),
        {"stored_at": _("Since"), "subject": _("Subject")},
    ),
    HeldRows(
        "told_to_other_programs",
        WebhookCall.objects.order_by("-pk").values(
            "created_at", "kind", "state", "body", told=F("webhook__name")
        ),
        BY_DESTINATION,
        _("Sent to other programs by this site"),
        {"created_at": _("When"), "kind": _("What"), "told": _("Which program")},
    ),
)


def needed(destinations: Sequence[int]) -> set[int]:
    """Return destinations with an issue, an unfinished mail or a report."""
    letters = Delivery.objects.filter(Q(issue__isnull=False) | Q(state__in=NOT_FINISHED))
    written = letters.filter(destination__in=destinations).values_list("destination_id", flat=True)
    reported = Bounce.objects.filter(destination__in=destinations).values_list("destination_id", flat=True)
    return {*written, *filter(None, reported)}
