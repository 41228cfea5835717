"""Daily limit per recipient, where messages cost: a mistake must not flood a phone.

Runs in the claim's transaction, with the lane's row locked.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import Count

from delivery.models import Delivery, Lane

OVER = "This recipient has had the maximum number of messages today. The next day starts at 00:00 UTC."


def next_day(now: datetime) -> datetime:
    """Return when the next UTC day begins."""
    return _day(now) + timedelta(days=1)


def within_day(lane: Lane, pks: Sequence[int], now: datetime) -> list[int]:
    """Return deliveries within the limit; others become due tomorrow."""
    if lane.per_recipient is None:
        return list(pks)
    recipients = dict(Delivery.objects.filter(pk__in=pks).values_list("pk", "destination_id"))
    theirs = Delivery.objects.filter(lane=lane, destination_id__in=set(recipients.values())).order_by()
    sent = theirs.filter(sent_at__gte=_day(now)) | theirs.filter(state=Delivery.State.SENDING)
    used = Counter(dict(sent.values_list("destination_id").annotate(Count("pk"))))
    take: list[int] = []
    late: list[int] = []
    for pk in pks:
        recipient = recipients.get(pk)
        (take if used[recipient] < lane.per_recipient else late).append(pk)
        used[recipient] += 1
    if late:
        rows = Delivery.objects.waiting().filter(pk__in=late)
        rows.update(due_at=next_day(now), last_error=OVER)
    return take


def _day(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
