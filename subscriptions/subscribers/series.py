"""Begin, continue and carry subscribers' runs through a series, which is sent by delivery/issues.

All run in the caller's transaction, which has locked the subscriptions.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from common.clock import zone_names
from subscriptions.models import SeriesRun, Subscribable, Subscription


def begin_series(rows: Sequence[Subscription], *, now: datetime, zone: str = "") -> None:
    """Begin the series, or continue it where somebody left. Somebody who had it all gets nothing again.

    `zone`: as the browser names it. Unknown ones are ignored.
    """
    # Perhaps another newsletter's, from which somebody switched.
    continue_series([row.pk for row in rows], now=now)
    for row in rows:
        if row.subscribable.welcome != Subscribable.Welcome.SERIES or row.is_beside:
            continue
        # Perhaps by a subscription to which they switched.
        theirs = SeriesRun.objects.filter(
            newsletter=row.subscribable_id, subscription__destination=row.destination_id
        )
        if (run := theirs.order_by("pk").first()) is None:
            known = zone if zone in zone_names() else ""
            about = {"subscription": row, "newsletter": row.subscribable, "time_zone": known}
            SeriesRun.objects.create(**about, begun_at=now, due_at=now)
        elif run.ended_at is None:
            SeriesRun.objects.filter(pk=run.pk).update(subscription=row, due_at=now)


def continue_series(keys: Collection[int], *, now: datetime) -> None:
    """Look at runs of these subscriptions now, as somebody has come back."""
    SeriesRun.objects.filter(subscription__in=keys, ended_at=None).update(due_at=now)


def carry_series(moves: Mapping[int, int]) -> None:
    """Let subscriptions take over the runs of others, by key, unless they are in the same series."""
    runs = SeriesRun.objects.filter(subscription__in=[*moves, *moves.values()])
    there = set(runs.values_list("subscription", "newsletter"))
    for run in runs.filter(subscription__in=moves, ended_at=None):
        to = moves[run.subscription_id]
        if (to, run.newsletter_id) not in there:
            SeriesRun.objects.filter(pk=run.pk).update(subscription=to)
