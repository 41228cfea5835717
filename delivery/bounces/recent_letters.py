"""A domain's last answered letters: the whole of which refusals and bounces are a share."""

from datetime import datetime

from delivery.models import Bounce, Delivery

ANSWERED = (Delivery.State.SENT, Delivery.State.FAILED)
# Letters go out nearly in the order of their keys, so only the rows next to a letter are searched: first the
# nearest, and if too few of these are of the domain, more. In 1,000,000 rows that takes 1 ms and 40 ms.
REACHES = (20_000, 100_000)
AHEAD = 2_000
ENOUGH_LETTERS = 100


def last_letters(*, near: Delivery, most: int) -> list[int]:
    """Keys of the last letters to the same domain in the same lane, near that delivery in the queue's order.

    The newest first, `most` at the most.
    """
    return [pk for pk, _ in _last(near, most)]


def letters_since(*, near: Delivery, most: int, since: datetime) -> list[int]:
    """The `last_letters` that were answered since then."""
    last = _last(near, most)
    failed = [pk for pk, sent_at in last if sent_at is None]
    # A failure's time stands with its report.
    reports = Bounce.objects.filter(delivery__in=failed, at__gt=since).order_by()
    lately = set(reports.values_list("delivery", flat=True)) if failed else set()
    return [pk for pk, sent_at in last if (sent_at > since if sent_at else pk in lately)]


def _last(near: Delivery, most: int) -> list[tuple[int, datetime | None]]:
    """Keys and times of sending, None for failed letters: by a bounded piece of the primary key."""
    rows = Delivery.objects.filter(lane=near.lane_id, domain=near.domain, state__in=ANSWERED)
    found: list[tuple[int, datetime | None]] = []
    for reach in REACHES:
        piece = rows.filter(pk__gt=near.pk - reach, pk__lte=near.pk + AHEAD)
        found = list(piece.order_by("-pk").values_list("pk", "sent_at")[:most])
        if len(found) >= ENOUGH_LETTERS:
            break
    return found
