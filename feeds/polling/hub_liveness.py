"""Whether hubs tell what is new: what the pace of polls asks, what polls find out. (Imports no polling.)"""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F

from feeds.models import HubSubscription
from feeds.rules.websub import SILENT_AFTER, TAKES_PUSHES, hub_is_live


def is_live(*, feed_id: int, now: datetime) -> bool:
    """Whether the feed's hub may be trusted to tell what is new, so that it may be read less often."""
    return bool(live_among(feed_ids=[feed_id], now=now))


def live_among(*, feed_ids: Iterable[int], now: datetime) -> set[int]:
    """Those of the feeds whose hub may be trusted so. One query."""
    rows = HubSubscription.objects.filter(feed__in=list(feed_ids), state__in=TAKES_PUSHES)
    return {
        row.feed_id
        for row in rows.only("feed", "state", "expires_at", "missed")
        if row.feed_id is not None and hub_is_live(row.state, row.expires_at, row.missed, now)
    }


def noticed_by_poll(*, feed_id: int, moment: datetime) -> None:
    """A poll at `moment` found posts that the hub had not pushed. At the second time it counts as silent.

    Until its next push, that is; and it is asked anew, as it may have forgotten us.
    """
    live = HubSubscription.objects.filter(feed_id=feed_id, state__in=TAKES_PUSHES, expires_at__gt=moment)
    last = SILENT_AFTER - 1
    if not live.filter(missed=last).update(missed=SILENT_AFTER, next_at=moment):
        live.filter(missed__lt=last).update(missed=F("missed") + 1)
