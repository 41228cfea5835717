"""Posts the newest posts of a feed that was just added, where people wanted to begin with them (network)."""

import logging
from datetime import datetime, timedelta

from channels.letter import LetterError
from chat.guilds.feeds import subscription_of
from chat.models import GuildFeed
from common.refused import Refused
from delivery.bridges.messages import newest_letters
from delivery.bridges.trial_posts import NotDone, post_test
from delivery.letters.samples import NothingToShow

log = logging.getLogger(__name__)

TRIED_FOR = timedelta(hours=1)


def post_first(*, now: datetime) -> int:
    """The oldest of them first. Returns how many were posted."""
    rows = GuildFeed.objects.present().filter(first_posts__gt=0, feed__first_polled_at__isnull=False)
    return sum(_post_first(one, now) for one in rows.select_related("subscribable").order_by("pk")[:50])


def _post_first(one: GuildFeed, now: datetime) -> int:
    posted, subscription = 0, subscription_of(one)
    try:
        there = len(newest_letters(one.subscribable, now=now, count=one.first_posts)) if subscription else 0
        for nth in range(min(one.first_posts, there), 0, -1):
            assert subscription is not None  # noqa: S101 - for the type checker
            post_test(subscription=subscription, now=now, nth=nth - 1, key=f"first-{one.pk}-{nth}")
            GuildFeed.objects.filter(pk=one.pk, first_posts__gte=nth).update(first_posts=nth - 1)
            posted += 1
    except NothingToShow:
        pass
    except (NotDone, LetterError, Refused) as error:
        log.warning("a first post was not posted: %s", error, extra={"guild_feed": one.pk})
        if now - one.added_at < TRIED_FOR:
            return posted
    GuildFeed.objects.filter(pk=one.pk).update(first_posts=0)
    return posted
