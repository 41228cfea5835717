"""What Twilio tells later of a message that it took. Idempotent, and in any order."""

from datetime import datetime

from django.db import transaction

from channels.rules.sms_words import CODE_WORDS, DISABLING
from delivery.models import Delivery, Receipt
from subscriptions.subscribers.suppression import disable

_STATUSES = {
    **dict.fromkeys(("accepted", "scheduled", "queued", "sending"), Receipt.Status.QUEUED),
    "sent": Receipt.Status.SENT,
    **dict.fromkeys(("delivered", "read"), Receipt.Status.DELIVERED),
    "undelivered": Receipt.Status.UNDELIVERED,
    **dict.fromkeys(("failed", "canceled"), Receipt.Status.FAILED),
}
_ORDER = Receipt.Status.values
FINAL = frozenset({Receipt.Status.DELIVERED, Receipt.Status.UNDELIVERED, Receipt.Status.FAILED})


@transaction.atomic
def take_status(
    *, account: str, delivery_id: int, sid: str, status: str, code: str, now: datetime
) -> Receipt | None:
    """Keeps the status with the delivery, and disables a number at which nothing will arrive.

    None if it says nothing new, or is about no message of that account.
    """
    said = _STATUSES.get(status)
    rows = Delivery.objects.select_for_update(no_key=True, of=("self",))
    row = rows.filter(pk=delivery_id, lane__kind="sms", lane__account=account).first()
    # Until the worker has recorded that it was sent, there is no id to compare.
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
