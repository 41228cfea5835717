"""Erasing what this app holds about people. The ledger's rows stay, narrow and nobody's."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q, QuerySet

from delivery.models import Attempt, Bounce, Delivery, Issue, MailboxMessage, WebhookCall
from delivery.services.pruning import FORGOTTEN
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.services.assigning import lock_for_membership
from subscriptions.services.erasing import ERASED

WAITING = ("queued", "deferred", "held")
# A worker has it in its hands: what it says of it in the end is swept later.
SENDING = Delivery.State.SENDING
WORDLESS = {"last_error": "", "remote_id": "", "language": "", "domain": ""}


def erase_mails(destinations: Sequence[Destination], now: datetime) -> int:
    """That an issue was sent to somebody stays; to whom, and in which words, does not.

    What waits is cancelled.
    """
    _let_publishing_end(destinations)
    every = Delivery.objects.filter(destination__in=destinations)
    telling = every.exclude(state=SENDING).filter(_is_telling() | Q(state__in=WAITING))
    # In the order in which outcomes are recorded.
    pks = list(telling.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).exclude(state=SENDING)
    rows.filter(issue=None).exclude(context=FORGOTTEN).update(context=FORGOTTEN)
    waiting = rows.filter(state__in=WAITING)
    cancelled = set(waiting.values_list("pk", flat=True))
    waiting.update(**WORDLESS | {"state": Delivery.State.CANCELLED, "held_for": "", "last_error": ERASED})
    rows.exclude(pk__any_of=frozenset(cancelled)).exclude(last_error=ERASED).update(**WORDLESS)
    return len(pks)


def _let_publishing_end(destinations: Sequence[Destination]) -> None:
    """What is being published to these people is queued before they go, or does not see them: letters of a
    subscription that is gone at the commit would let the issue fail for everybody."""
    theirs = Subscribable.objects.filter(
        subscriptions__in=Subscription.objects.confirmed().filter(destination__in=destinations)
    )
    pks = [one.pk for one in lock_for_membership(Subscribable.objects.filter(pk__in=theirs))]
    drafts = Issue.objects.filter(subscribable__in=pks, published_at=None, cancelled_at=None)
    list(drafts.order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _is_telling() -> Q:
    words = ~Q(last_error__in=("", ERASED)) | ~Q(remote_id="") | ~Q(language="") | ~Q(domain="")
    return words | (Q(issue=None) & ~Q(context=FORGOTTEN))


def erase_attempts(destinations: Sequence[Destination], now: datetime) -> int:
    """They are nothing but words."""
    return Attempt.objects.filter(delivery__destination__in=destinations).delete()[0]


def erase_kept(destinations: Sequence[Destination], now: datetime) -> int:
    """Letters that were kept here because there was no mail server."""
    return MailboxMessage.objects.filter(delivery__destination__in=destinations).delete()[0]


def erase_bounces(destinations: Sequence[Destination], now: datetime) -> int:
    """That something came back stays for what is judged by how much did; also of those that named an address
    and proved nothing, the words go."""
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
    """What other programs were told, or were to be told."""
    return WebhookCall.objects.filter(destination__in=destinations).delete()[0]
