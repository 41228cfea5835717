"""Writes the wish for what a newsletter mails to who has just confirmed."""

from collections.abc import Iterable
from datetime import datetime

from subscriptions.links import page_url
from subscriptions.models import Notice, Subscribable, Subscription

# The template of a notice that wants no words but the latest issue. (The delivery app knows which that is.)
LATEST = "latest"


def welcome(confirmed: Iterable[Subscription], *, now: datetime) -> None:
    """For readers who confirmed by themselves: a switch or an import mails nothing. In the caller's
    transaction."""
    notices = [
        _notice(each, now) for each in confirmed if each.subscribable.welcome != Subscribable.Welcome.NONE
    ]
    Notice.objects.bulk_create(notices, ignore_conflicts=True)


def _notice(subscription: Subscription, now: datetime) -> Notice:
    newsletter = subscription.subscribable
    wants_latest = newsletter.welcome == Subscribable.Welcome.LATEST
    return Notice(
        kind=Notice.Kind.WELCOME,
        key=f"subscription-{subscription.pk}-{now:%Y%m%dT%H%M%S}",
        destination=subscription.destination,
        subscription=subscription,
        template=LATEST if wants_latest else "welcome",
        language=subscription.language,
        context={"newsletter": str(newsletter), "page_url": page_url(newsletter)},
        created_at=now,
    )
