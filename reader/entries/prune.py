from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common.passes import TimeBudget
from feeds.models import Feed
from reader.models import Channel, Composition, Entry, Follow, Mention, Star, TimelineEntry, Unread
from reader.rules.placement import Hidden
from reader.rules.retention import kept_since

PRUNED_TOGETHER = 1_000
UNWANTED_FOR = timedelta(days=1)
# Webmentions without a link to their target.
REFUSED_FOR = timedelta(days=30)
# The reader's site has them.
POSTED_FOR = timedelta(days=365)
# Not REMOVED, so that removed posts stay away.
SHOWABLE = (Hidden.SEEN, Hidden.MUTED, Hidden.WITHDRAWN, Hidden.FILTERED)
FORGETTABLE = (*SHOWABLE, Hidden.DUPLICATE)


def prune_entries(*, now: datetime, budget: timedelta | None = None) -> int:
    """Forget old posts, a thousand per transaction.

    Entries stay without texts: posts still in the feed must not return as new.
    """
    left = TimeBudget(budget)
    forgotten = 0
    for pks in _old_places(now):
        with transaction.atomic():
            Unread.objects.filter(place__in=pks).delete()
            forgotten += TimelineEntry.objects.filter(pk__in=pks).delete()[0]
        if left.is_spent:
            return forgotten
    shown = TimelineEntry.objects.filter(entry=OuterRef("pk"), hidden__in=SHOWABLE)
    whole = Entry.objects.filter(
        ~Exists(shown),
        ~Exists(Star.objects.filter(entry=OuterRef("pk"))),
        jf2__isnull=False,
        placed_at__isnull=False,
        due_at=None,
        seen_at__lt=now - UNWANTED_FOR,
    )
    while not left.is_spent:
        pks = list(whole.values_list("pk", flat=True)[:PRUNED_TOGETHER])
        if not pks:
            break
        with transaction.atomic():
            whole.filter(pk__in=pks).update(jf2=None, text="")
    Mention.objects.filter(entry=None, due_at=None, checked_at__lt=now - REFUSED_FOR).delete()
    Composition.objects.filter(state=Composition.State.POSTED, made_at__lt=now - POSTED_FOR).delete()
    drop_unwanted_feeds(now=now)
    return forgotten


def drop_unwanted_feeds(*, now: datetime) -> int:
    """Delete feeds that have no letters, and had no followers for a day."""
    unwanted = Feed.objects.filter(
        for_letters=False, read_by=0, dropping=False, unread_since__lt=now - UNWANTED_FOR
    )
    dropped = 0
    for pk in list(unwanted.values_list("pk", flat=True)):
        with transaction.atomic():
            feed = unwanted.filter(pk=pk).select_for_update().first()
            if feed is not None:
                feed.delete()
                dropped += 1
    return dropped


def _old_places(now: datetime) -> Iterator[list[int]]:
    days = {"read_days": settings.READER_KEEP_READ_DAYS, "unread_days": settings.READER_KEEP_UNREAD_DAYS}
    for channel in list(Channel.objects.order_by("pk")):
        read_since, unread_since = kept_since(now, keep_days=channel.keep_days, **days)
        # Posts of a new follow have their own dates.
        fresh = Follow.objects.filter(channel=channel, added_at__gte=read_since).values("feed")
        places = TimelineEntry.objects.filter(channel=channel, hidden__in=FORGETTABLE)
        is_old = Q(at__lt=read_since, unread=None, was_unread=False) | Q(at__lt=unread_since)
        starred = Star.objects.filter(reader=channel.reader_id, entry=OuterRef("entry"))
        old = places.exclude(feed__in=fresh).filter(~Exists(starred), is_old).order_by()
        while pks := list(old.values_list("pk", flat=True)[:PRUNED_TOGETHER]):
            yield pks
