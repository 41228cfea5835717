"""A domain's last letters that had an answer: what shares of refusals and bounces are taken of."""

from datetime import datetime

from delivery.models import Bounce, Delivery

ANSWERED = (Delivery.State.SENT, Delivery.State.FAILED)
# Letters go out in the order of their keys, nearly. Of no more rows than these is any ever looked at: of the
# nearest first, and where too few of them are of that domain, of more. (Of 1,000,000: 1 ms and 40 ms.)
REACHES = (20_000, 100_000)
AHEAD = 2_000
ENOUGH = 100


def last_letters(*, near: Delivery, most: int) -> list[int]:
    """The keys of the last letters to the same domain in the same lane, `most` at the most, newest first.

    Those `near` a delivery in the queue's order.
    """
    return [pk for pk, _ in _last(near, most)]


def letters_since(*, near: Delivery, most: int, since: datetime) -> list[int]:
    """Those of `last_letters` that were answered since then."""
    last = _last(near, most)
    failed = [pk for pk, sent_at in last if sent_at is None]
    # A failure's time stands with its report.
    reports = Bounce.objects.filter(delivery__in=failed, at__gt=since).order_by()
    lately = set(reports.values_list("delivery", flat=True)) if failed else set()
    return [pk for pk, sent_at in last if (sent_at > since if sent_at else pk in lately)]


def _last(near: Delivery, most: int) -> list[tuple[int, datetime | None]]:
    """Keys and when they were sent, None for what failed: by a bounded piece of the primary key."""
    rows = Delivery.objects.filter(lane=near.lane_id, domain=near.domain, state__in=ANSWERED)
    found: list[tuple[int, datetime | None]] = []
    for reach in REACHES:
        piece = rows.filter(pk__gt=near.pk - reach, pk__lte=near.pk + AHEAD)
        found = list(piece.order_by("-pk").values_list("pk", "sent_at")[:most])
        if len(found) >= ENOUGH:
            break
    return found
