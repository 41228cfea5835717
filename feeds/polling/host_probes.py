"""A host that does not answer is tried by one of its feeds, which has the others read once it is back."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from feeds.models import Feed
from feeds.rules.outage import PROBED_EVERY

# The reasons for which a feed waits while its host does not answer.
WAITING_FOR_HOST = ("unreachable", "probe")


def is_scout(feed: Feed, now: datetime) -> bool:
    """Whether no other feed tries the host within the next hour."""
    failing = Feed.objects.watched().filter(host=feed.host, failures__gt=0)
    return not failing.filter(next_poll_at__lte=now + PROBED_EVERY).exclude(pk=feed.pk).exists()


@transaction.atomic
def wake(*, hosts: Collection[str], now: datetime) -> int:
    """Makes feeds due that wait for one of these hosts, which have answered. Returns how many."""
    waiting = Feed.objects.watched().filter(
        host__in=hosts, failures__gt=0, next_poll_why__in=WAITING_FOR_HOST, next_poll_at__gt=now
    )
    # In the order of their keys, and without feeds that are being recorded: nobody waits for anybody.
    locked = waiting.order_by("pk").select_for_update(skip_locked=True)
    pks = list(locked.values_list("pk", flat=True))
    return waiting.filter(pk__in=pks).update(next_poll_at=now, next_poll_why="host_back") if pks else 0
