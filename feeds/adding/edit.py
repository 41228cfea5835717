"""Changing a feed. Its items stay."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least

from common.clock import utcnow
from common.db.leases import RELEASED
from common.net.client import keeps_secrets
from feeds.adding.add import SETTINGS, check_feed, set_address, tidy
from feeds.credentials import checked_credentials
from feeds.hubs.subscriptions import leave_hub
from feeds.models import Feed
from feeds.tags import checked_tags, set_tags

EDITABLE = SETTINGS | {"url", "status", "tags", "credentials"}
# What may be changed for many feeds at once: it makes sense whatever else they are.
SHARED = frozenset({"pace", "recheck_every_minutes", "ceiling_minutes", "hold_floods", "use_hub"})


@transaction.atomic
def alter_feed(*, feed: Feed, **changes: Any) -> Feed:
    """Changes the named fields, nothing else. Raises ValidationError.

    The first document after a change of address counts as the adding (rules: floods). `tags` are names, those
    it had are replaced; `credentials` are what `checked_credentials` takes, and {} forgets them.
    """
    if unknown := set(changes) - EDITABLE:
        raise ValidationError(f"A feed has no field to alter called {', '.join(sorted(unknown))}.")
    names = checked_tags(changes.pop("tags")) if "tags" in changes else None
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    changes = {**tidy(changes), **_access(feed, changes)}
    if changes.get("status") == Feed.Status.ACTIVE:
        changes["dropping"] = False
    if changes.get("hold_floods") and not feed.hold_floods:
        # Switching it on again asks to be asked.
        changes["floods_sent_at"] = None
    interval = feed.recheck_every_minutes
    for name, value in changes.items():
        setattr(feed, name, value)
    check_feed(feed)
    if feed.recheck_every_minutes < interval and not feed.failures and feed.last_polled_at:
        # Not only from the next reading on, which the old interval may have put weeks away.
        feed.next_poll_at = min(
            feed.next_poll_at, feed.last_polled_at + timedelta(minutes=feed.recheck_every_minutes)
        )
        changes["next_poll_at"] = feed.next_poll_at
    feed.save(update_fields=list(changes))
    if names is not None:
        set_tags(feed, names)
    if "first_polled_at" in changes:
        leave_hub(feed=feed, now=utcnow())
    return feed


def _access(feed: Feed, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a change of address or of credentials means for the row. Raises ValidationError."""
    found: dict[str, Any] = {}
    if "credentials" in changes:
        found["credentials"] = checked_credentials(changes["credentials"])
    if "url" not in changes:
        return found
    new = Feed()
    if pasted := set_address(new, changes["url"].strip()):
        found["credentials"] = found.get("credentials") or checked_credentials(pasted)
    found.update(url=new.url, host=new.host)
    if new.url != feed.url:
        # Due at once, whatever the old address did; a worker that is still reading that one stores nothing.
        found.update(
            first_polled_at=None,
            start=Feed.Start.FROM_NOW,
            next_poll_at=feed.last_polled_at or feed.next_poll_at,
            moved_to="",
            moved_polls=0,
            floods_sent_at=None,
            failures=0,
            failing_since=None,
            last_error="",
            **RELEASED,
        )
        if feed.credentials and not keeps_secrets(feed.url, new.url):
            # They were for the old host; the new one must not learn them.
            found.setdefault("credentials", {})
    return found


@transaction.atomic
def alter_feeds(*, feeds: Iterable[int], **changes: Any) -> int:
    """Makes the same change to many feeds (their keys), all or none. Returns how many there were.

    Raises ValidationError, naming the field.
    """
    if unknown := set(changes) - SHARED:
        raise ValidationError(f"Not to be changed for many at once: {', '.join(sorted(unknown))}.")
    check_feed(Feed(url="https://example.org/", **changes))
    # Locked in the order of their keys, as everywhere: so there are no deadlocks.
    rows = Feed.objects.filter(pk__in=list(feeds)).order_by("pk")
    pks = list(rows.select_for_update(no_key=True).values_list("pk", flat=True))
    chosen = Feed.objects.filter(pk__in=pks)
    if (interval := changes.get("recheck_every_minutes")) is not None:
        soon = F("last_polled_at") + timedelta(minutes=interval)
        slower = chosen.filter(recheck_every_minutes__gt=interval, failures=0, last_polled_at__isnull=False)
        slower.update(next_poll_at=Least("next_poll_at", soon))
    if changes.get("hold_floods"):
        chosen.filter(hold_floods=False).update(floods_sent_at=None)
    if changes:
        chosen.update(**changes)
    return len(pks)


def start_over(*, feeds: Iterable[int], now: datetime) -> int:
    """Makes failing feeds (their keys) due at once, whatever their back-off. Returns how many.

    Their failures stay counted until a reading succeeds.
    """
    failing = Feed.objects.watched().filter(pk__in=list(feeds), failures__gt=0)
    with transaction.atomic():
        pks = list(failing.order_by("pk").select_for_update().values_list("pk", flat=True))
        return Feed.objects.filter(pk__in=pks).update(next_poll_at=now)
