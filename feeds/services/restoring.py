"""After a restore from a backup: what waits, and what will look new, may have been sent since."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Coalesce

from feeds.models import Feed, Item
from feeds.rules.floods import RESTORED
from feeds.services.known import chunks


def hold_all(*, now: datetime) -> int:
    """Holds every post that waits to settle, and has every feed hold what its next whole reading brings.

    Returns how many posts are held. Feeds are taken some hundreds to a transaction.
    """
    every = list(Feed.objects.order_by("pk").values_list("pk", flat=True))
    return sum(_hold(pks, now) for pks in chunks(every))


@transaction.atomic
def _hold(pks: Sequence[int], now: datetime) -> int:
    # The feeds first, as polls do: none plans with what we are changing.
    list(Feed.objects.select_for_update().filter(pk__in=pks).order_by("pk").values_list("pk"))
    Feed.objects.filter(pk__in=pks).update(hold_next=True)
    waiting = Item.objects.filter(feed__in=pks, state=Item.State.UNASSIGNED, held_at=None)
    held = waiting.update(held_at=now, reason=RESTORED, final_at=None)
    with_held = Item.objects.held().filter(feed__in=pks).order_by().values("feed")
    Feed.objects.filter(pk__in=with_held).update(held_since=Coalesce("held_since", Value(now)))
    return held
