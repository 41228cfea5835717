"""Replies to text messages, and statuses. Idempotent: Twilio may repeat them."""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from channels.rules.sms_words import CODE_WORDS, DISABLING, Wish
from common.languages import spoken_variety
from delivery.models import Delivery, Receipt
from subscriptions.models import Destination, SignUpCode, Subscription, Suppression
from subscriptions.subscribers.leave import leave, not_left, undo_leaving
from subscriptions.subscribers.suppression import disable, enable, lift, suppress

_STATUSES = {
    **dict.fromkeys(("accepted", "scheduled", "queued", "sending"), Receipt.Status.QUEUED),
    "sent": Receipt.Status.SENT,
    **dict.fromkeys(("delivered", "read"), Receipt.Status.DELIVERED),
    "undelivered": Receipt.Status.UNDELIVERED,
    **dict.fromkeys(("failed", "canceled"), Receipt.Status.FAILED),
}
_ORDER = Receipt.Status.values
FINAL = frozenset({Receipt.Status.DELIVERED, Receipt.Status.UNDELIVERED, Receipt.Status.FAILED})
KIND = "sms"
STOPPED_BY_SMS = "Answered STOP."
# In a disabled destination's reason, if Twilio got STOP first.
STOPPED_AT_TWILIO = "21610"


@transaction.atomic
def take_status(
    *, account: str, delivery_id: int, sid: str, status: str, code: str, now: datetime
) -> Receipt | None:
    """Record a delivery's status, and disable a number that cannot receive.

    Returns None without news or without such a message of the account.
    """
    said = _STATUSES.get(status)
    rows = Delivery.objects.select_for_update(no_key=True, of=("self",))
    row = rows.filter(pk=delivery_id, lane__kind="sms", lane__account=account).first()
    # There is no id until the worker has recorded the sending.
    if said is None or row is None or row.remote_id not in ("", sid):
        return None
    known = Receipt.objects.filter(delivery=row).first()
    if known is not None and (known.status in FINAL or _ORDER.index(said) <= _ORDER.index(known.status)):
        return None
    code = code if code.isdecimal() else ""
    receipt, _ = Receipt.objects.update_or_create(
        delivery=row, defaults={"status": said, "code": code[:10], "at": now}
    )
    if code in DISABLING and said is not Receipt.Status.DELIVERED:
        disable(destination=row.destination, now=now, reason=f"{CODE_WORDS[code]} (Twilio, {code})")
    return receipt


def heed(wish: Wish, *, account: str, number: str, now: datetime) -> str:
    """Act on a reply. Return the answer, in the reader's language."""
    language = _language_of(number)
    match wish:
        case Wish.STOP:
            stop(account=account, number=number, now=now)
            said = gettext_noop("You get no more messages from here. Answer START to get them again.")
        case Wish.START:
            start(account=account, number=number, now=now)
            said = gettext_noop("Messages may come to this number again. Answer STOP to leave.")
        case _:
            said = gettext_noop(
                "These are newsletters that somebody ordered here: %(url)s Answer STOP to leave."
            )
    with translation.override(language):
        return gettext(said) % {"url": f"{settings.SITE_URL}/"}


@transaction.atomic
def stop(*, account: str, number: str, now: datetime) -> int:
    """Unsubscribe the number from the account's newsletters. Return how many.

    All accounts stop sending to it.
    """
    suppress(kind=KIND, core=number, reason=STOPPED_BY_SMS, now=now)
    SignUpCode.objects.filter(destination__kind=KIND, destination__core=number).delete()
    to = Destination.objects.filter(kind=KIND, core=number).first()
    if to is None:
        return 0
    rows = list(not_left(to).filter(subscribable__channel=KIND, subscribable__options__account=account))
    for row in rows:
        leave(subscription=row, now=now, by_reader=True)
    return len(rows)


@transaction.atomic
def start(*, account: str, number: str, now: datetime) -> int:
    """Undo STOP only: lift it, and resubscribe within a day. Return how many newsletters.

    Later the owner has to sign up again.
    """
    lifted = list(Suppression.objects.filter(kind=KIND, core=number, reason=STOPPED_BY_SMS))
    lift(suppressions=lifted)
    to = Destination.objects.filter(kind=KIND, core=number).first()
    if to is None:
        return 0
    if STOPPED_AT_TWILIO in to.disabled_reason:
        enable(destination=to)
    left = Subscription.objects.filter(
        destination=to,
        status=Subscription.Status.UNSUBSCRIBED,
        left_at__in=[row.created_at for row in lifted],
        subscribable__options__account=account,
    )
    return sum(undo_leaving(subscription=row, now=now) for row in left.order_by("pk"))


def _language_of(number: str) -> str:
    rows = Subscription.objects.filter(destination__kind=KIND, destination__core=number)
    said = rows.exclude(language="").order_by("-added_at").values_list("language", flat=True).first()
    try:
        return spoken_variety(said or "en")
    except LookupError:
        return "en"
