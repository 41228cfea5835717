"""Name, language, tags, pauses. Issues during a pause are never sent."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from subscriptions.models import Subscription
from subscriptions.models.subscription import random_token
from subscriptions.rules.pauses import pause_end
from subscriptions.rules.sign_up import tidy_name
from subscriptions.subscribers.lineage import lineage_of, predecessors
from subscriptions.subscribers.notices import tell_changed
from subscriptions.subscribers.tags import replace_tags


@transaction.atomic
def save_details(
    *,
    subscription: Subscription,
    name: str | None = None,
    language: str | None = None,
    tags: Iterable[str] | None = None,
) -> None:
    """Also changes a pending switch's newsletter. Language "" is the newsletter's. Raises BadTag."""
    changes: dict[str, Any] = {}
    if name is not None:
        changes["display_name"] = tidy_name(name)
    if language is not None:
        changes["language"] = language
    changed = Q(pk__in=_change(subscription, **changes))
    if tags is not None and replace_tags(destination=subscription.destination, names=tags):
        changed |= Q(destination=subscription.destination_id)
    tell_changed(Subscription.objects.filter(changed))
    subscription.refresh_from_db(fields=list(changes))


@transaction.atomic
def revoke_links(*, subscription: Subscription) -> None:
    """Invalidate the links in all letters so far, including one-click ones."""
    keys = {subscription.pk} | predecessors(subscription)
    for row in Subscription.objects.filter(pk__in=keys).order_by("pk"):
        row.token = random_token()
        row.save(update_fields=["token"])
    subscription.refresh_from_db(fields=["token"])


def pause(*, subscription: Subscription, until: date, now: datetime) -> None:
    """Raises BadDate."""
    end = pause_end(until, now=now, zone=subscription.subscribable.zone)
    _set_pause(subscription, end)


def resume(*, subscription: Subscription) -> None:
    _set_pause(subscription, None)


def is_paused(subscription: Subscription, now: datetime) -> bool:
    return subscription.paused_until is not None and subscription.paused_until > now


@transaction.atomic
def _set_pause(subscription: Subscription, until: datetime | None) -> None:
    tell_changed(Subscription.objects.filter(pk__in=_change(subscription, paused_until=until)))
    subscription.paused_until = until


def _change(subscription: Subscription, **changes: Any) -> list[int]:
    """Return keys of changed rows in its lineage."""
    rows = Subscription.objects.filter(pk__in=lineage_of(subscription))
    different = list(rows.exclude(**changes).order_by("pk").values_list("pk", flat=True)) if changes else []
    rows.filter(pk__in=different).update(**changes)
    return different
