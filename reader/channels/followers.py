from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count

from feeds.models import Feed
from reader.models import Follow


def count_followers(feeds: Iterable[int], *, now: datetime) -> None:
    """Runs in the caller's transaction. Polls report posts only if there are followers."""
    keys = sorted(set(feeds))
    list(Feed.objects.filter(pk__in=keys).order_by("pk").select_for_update().values_list("pk", flat=True))
    followed = Follow.objects.filter(feed__in=keys).order_by().values("feed").annotate(n=Count("pk"))
    counts = dict(followed.values_list("feed", "n"))
    for key in keys:
        left = {} if counts.get(key) else {"unread_since": now}
        Feed.objects.filter(pk=key).update(read_by=counts.get(key, 0), **left)
