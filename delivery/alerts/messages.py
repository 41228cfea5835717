"""Text and recipients of mails to admins, and those about feeds: each once."""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from common.admin.html import ago, list_url, object_url, when
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.ports.events import EventKind
from common.text import pluralize, shortened
from delivery.alerts.troubles import titled
from delivery.lanes.lanes import lane_for, mail_to
from delivery.models import Delivery
from delivery.webhooks.outbox import is_anybody_listening
from feeds.items.alerts import how_many_fail, is_any_wanting, mark_alerted, wanting
from feeds.models import Feed
from feeds.rules.alerts import GAP, What, is_our_own_network, may_tell
from feeds.rules.item_status import because
from subscriptions.models import Destination

log = logging.getLogger(__name__)

LISTED = 30
LONGEST_ERROR = 300

NOT_LOST = (
    "It will be retried automatically, next on {}: {}. Posts published in the "
    "meantime are sent once it can be read again, if the feed still has them."
)
NONE_LOST = (
    "They will be retried automatically. Posts published in the meantime are "
    "sent once the feeds can be read again, if they still have them."
)
ONCE_MORE = "You’ll get another email when it can be read again."
ALL_FAIL = (
    "All {:,} feeds are failing at the same time. Check first that this server "
    "can reach the Internet and its name servers."
)
FEED_GONE = "says that the feed is permanently gone (HTTP 410), so it’s no longer read."
MOVED = "If it has moved, enter its new address. Its posts are kept. If not, you can delete it."
SOME_MOVED = (
    "For feeds that have moved, enter the new address. Their posts are kept. The others can be deleted."
)
WELL = (
    "You don’t need to do anything. Posts published in the meantime will be sent, if the feed still has them."
)
ALL_WELL = (
    "You don’t need to do anything. Posts published in the meantime will be "
    "sent, if the feeds still have them."
)
FEED_STAMP = "%Y%m%dT%H%M%S"
ALERTS_PERMISSION = "feeds.view_feed"
BACKEND = "django.contrib.auth.backends.ModelBackend"
MOST_ADMINS = 50
# By user key.
Admins = dict[int, Destination]


@dataclass(frozen=True, slots=True)
class Alert:
    """Mail: sentences, a list, more sentences, and the button's admin page."""

    subject: str
    sentences: tuple[str, ...]
    page: str
    lines: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()

    def context(self) -> dict[str, str | list[str]]:
        """Return JSON for the template `alert`."""
        return {
            "subject": self.subject,
            "sentences": list(self.sentences),
            "lines": list(self.lines),
            "closing": list(self.closing),
            "page_url": f"{settings.SITE_URL}{self.page}",
            "site_url": settings.SITE_URL,
        }


def feeds_alert(what: What, feeds: Sequence[Feed], *, fail: tuple[int, int], now: datetime) -> Alert:
    """Return one mail. `fail`: numbers of failing and of watched feeds."""
    if what == "failing" and is_our_own_network(*fail):
        return all_failing(feeds, fail[1], now)
    return ALERTS_OF_ONE[what](feeds[0], now) if len(feeds) == 1 else ALERTS_OF_MANY[what](feeds, now)


def one_failing(feed: Feed, now: datetime) -> Alert:
    why = because(feed.next_poll_why, every_minutes=feed.recheck_every_minutes, failing=True)
    return Alert(
        subject=f"{titled(feed)} can’t be read",
        sentences=(
            f"{titled(feed)} has been failing for {since(feed, now)}: {pluralize(feed.failures, 'reading')} "
            f"in a row, the first on {when(feed.failing_since)}.",
            f"Last error: {error(feed)}",
            f"Its address: {feed.url}",
        ),
        closing=(NOT_LOST.format(when(feed.next_poll_at), why), ONCE_MORE),
        page=object_url(feed),
    )


def many_failing(feeds: Sequence[Feed], now: datetime) -> Alert:
    number = pluralize(len(feeds), "feed")
    return Alert(
        subject=f"{number} can’t be read",
        sentences=(f"{number} have been failing for about a day or longer.",),
        lines=list_lines([f"{titled(feed)}, for {since(feed, now)}: {error(feed)}" for feed in feeds]),
        closing=(NONE_LOST,),
        page=list_url(Feed, health="failing"),
    )


def all_failing(feeds: Sequence[Feed], watched: int, now: datetime) -> Alert:
    said = many_failing(feeds, now)
    return Alert(
        subject=f"None of your {watched:,} feeds can be read",
        sentences=(ALL_FAIL.format(watched), "Failing for about a day:"),
        lines=said.lines,
        closing=said.closing,
        page=said.page,
    )


def one_gone(feed: Feed, now: datetime) -> Alert:
    return Alert(
        subject=f"{titled(feed)} is gone",
        sentences=(f"The server of {titled(feed)} {FEED_GONE}", f"Its address: {feed.url}"),
        closing=(MOVED,),
        page=object_url(feed),
    )


def many_gone(feeds: Sequence[Feed], now: datetime) -> Alert:
    return Alert(
        subject=f"{pluralize(len(feeds), 'feed')} are gone",
        sentences=(f"Of each of these, the server {FEED_GONE}",),
        lines=list_lines([f"{titled(feed)}: {feed.url}" for feed in feeds]),
        closing=(SOME_MOVED,),
        page=list_url(Feed, health="stopped"),
    )


def one_recovered(feed: Feed, now: datetime) -> Alert:
    return Alert(
        subject=f"{titled(feed)} can be read again",
        sentences=(f"{titled(feed)} works again. It was read on {when(feed.fetched_through)}.", WELL),
        page=object_url(feed),
    )


def many_recovered(feeds: Sequence[Feed], now: datetime) -> Alert:
    number = pluralize(len(feeds), "feed")
    return Alert(
        subject=f"{number} can be read again",
        sentences=(f"{number} that had been failing can be read again:",),
        lines=list_lines([titled(feed) for feed in feeds]),
        closing=(ALL_WELL,),
        page=list_url(Feed, health="active"),
    )


ALERTS_OF_ONE: dict[What, Callable[[Feed, datetime], Alert]] = {
    "failing": one_failing,
    "gone": one_gone,
    "recovered": one_recovered,
}
ALERTS_OF_MANY: dict[What, Callable[[Sequence[Feed], datetime], Alert]] = {
    "failing": many_failing,
    "gone": many_gone,
    "recovered": many_recovered,
}


def list_lines(lines: list[str]) -> tuple[str, ...]:
    """Shorten the list, and add how many more there are."""
    more = [f"and {len(lines) - LISTED:,} more"] if len(lines) > LISTED else []
    return tuple(lines[:LISTED] + more)


def error(feed: Feed) -> str:
    return shortened(feed.last_error, LONGEST_ERROR) or "The server gave no reason."


def since(feed: Feed, now: datetime) -> str:
    return ago(now - (feed.failing_since or now))


def queue_alert(
    said: Alert, *, key: str, admins: Admins, now: datetime, more: Mapping[str, list[str]] | None = None
) -> int:
    """Queue a mail per admin and key, in the caller's transaction. Return how many.

    `more`: hidden context.
    """
    context = {**said.context(), **(more or {})}
    rows = [
        mail_to(
            address, kind=Delivery.Kind.ALERT, key=f"{key}:{user}", template="alert", context=context, now=now
        )
        for user, address in admins.items()
    ]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def alert_recipients(now: datetime) -> Admins:
    """Return distinct addresses of users who may see feeds. Creates rows."""
    admins = get_user_model().objects.with_perm(ALERTS_PERMISSION, backend=BACKEND)
    return addresses_of(admins.filter(Q(is_staff=True) | Q(is_superuser=True)), now)


def addresses_of(users: "QuerySet[User]", now: datetime) -> Admins:
    found: dict[str, tuple[int, Destination]] = {}
    for user in users.exclude(email="").order_by("pk")[:MOST_ADMINS]:
        try:
            parsed = channels.get("email").parse_destination({"email": user.email})
        except InvalidDestination as error:
            log.warning("could not write to an admin's address: %s", error)
            continue
        lane_for(kind="email", core=parsed.core)
        address = Destination.at(parsed, now=now)
        found.setdefault(address.core, (user.pk, address))
    return dict(found.values())


def tell_admins(*, now: datetime) -> int:
    """Queue due mails. Return how many.

    Nothing counts as reported without an admin's address and without such a webhook.
    """
    if not is_any_wanting(now):
        return 0
    # Creates rows: within the transaction, a second worker would wait.
    admins = alert_recipients(now)
    if not admins and not is_anybody_listening(EventKind.FAILING):
        log.info("feeds are failing or gone, and no admin has an email address for alerts")
        return 0
    with transaction.atomic():
        count = 0
        for what, feeds in wanting(now).items():
            lately = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, created_at__gt=now - GAP)
            told = lately.filter(key__contains=f":{what}:").order_by("-created_at")
            if not may_tell(told.values_list("created_at", flat=True).first(), now):
                continue
            oldest_first = sorted(feeds, key=lambda feed: (feed.failing_since or now, feed.pk))
            said = feeds_alert(what, oldest_first, fail=how_many_fail(), now=now)
            count += queue_alert(said, key=alert_key(what, feeds), admins=admins, now=now)
            mark_alerted(feeds=feeds, what=what, now=now)
        return count


def alert_key(what: What, feeds: Sequence[Feed]) -> str:
    """Return the same key for the same feeds and trouble, to queue one mail."""
    if len(feeds) == 1:
        return f"feed:{feeds[0].pk}:{_since(what, feeds[0])}:{what}"
    parts = sorted(f"{feed.pk}:{_since(what, feed)}" for feed in feeds)
    return f"feeds:{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:40]}:{what}"


def _since(what: What, feed: Feed) -> str:
    """Return the start of the trouble; for a recovery, the last alert's time."""
    moment = feed.alerted_at if what == "recovered" else feed.failing_since
    return f"{moment:{FEED_STAMP}}" if moment else ""
