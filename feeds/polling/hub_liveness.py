"""Imports no other module of polling."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F

from feeds.models import HubSubscription
from feeds.rules.websub import SILENT_AFTER, TAKES_PUSHES, hub_is_live


def live_among(*, feed_ids: Iterable[int], now: datetime) -> set[int]:
    """Return feeds whose hub is reliable, so that they may be read less often. One query."""
    rows = HubSubscription.objects.filter(feed__in=list(feed_ids), state__in=TAKES_PUSHES)
    return {
        row.feed_id
        for row in rows.only("feed", "state", "expires_at", "missed")
        if row.feed_id is not None and hub_is_live(row.state, row.expires_at, row.missed, now)
    }


def noticed_by_poll(*, feed_id: int, moment: datetime) -> None:
    """Count a poll that found posts the hub had not pushed.

    After two, the hub counts as silent until its next push, and we subscribe anew in case it lost us.
    """
    live = HubSubscription.objects.filter(feed_id=feed_id, state__in=TAKES_PUSHES, expires_at__gt=moment)
    last = SILENT_AFTER - 1
    if not live.filter(missed=last).update(missed=SILENT_AFTER, next_at=moment):
        live.filter(missed__lt=last).update(missed=F("missed") + 1)
