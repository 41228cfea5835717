"""A newsletter's records in an account of the AT Protocol: switched on and off, and their addresses."""

from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat

from channels.bluesky.standard_site import StandardSiteChannel, publication_uri
from common.ports import channels
from common.refused import Refused
from delivery.models import Delivery
from delivery.rendering.page_posts import NO_RECORDS, Records
from subscriptions.links import page_url
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import set_companion
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import mark_confirmed

KEY = StandardSiteChannel.key
NOT_PUBLIC = "Only a public newsletter can be published as records. Change its visibility first."
# The end of a deletion's key (channels.rules.meaning).
DELETION = Value("-1")


def accounts() -> QuerySet[Destination]:
    """Return the accounts that can have records."""
    return Destination.objects.filter(kind=StandardSiteChannel.borrows, disabled_at=None).order_by("label")


def is_on(newsletter: Subscribable) -> bool:
    return KEY in newsletter.companions.split()


def subscription_of(newsletter: Subscribable) -> Subscription | None:
    rows = Subscription.objects.confirmed().filter(subscribable=newsletter, destination__kind=KEY)
    return rows.select_related("destination").first() if is_on(newsletter) else None


@transaction.atomic
def switch_on(newsletter: Subscribable, account: Destination, *, now: datetime) -> None:
    """Write records for its next issues. Idempotent. Raises Refused."""
    if newsletter.visibility != Subscribable.Visibility.PUBLIC:
        raise Refused(NOT_PUBLIC)
    parsed = replace(channels.get(KEY).parse_destination({"did": account.core}), label=account.label)
    there = Destination.at(parsed, kind=KEY, now=now)
    there.label, there.disabled_at, there.disabled_reason = account.label, None, ""
    there.save(update_fields=["label", "disabled_at", "disabled_reason"])
    _leave(newsletter, now=now, but=there)
    rows = Subscription.objects.select_for_update(no_key=True)
    row, _ = rows.get_or_create(subscribable=newsletter, destination=there, defaults={"added_at": now})
    if row.status != Subscription.Status.CONFIRMED:
        mark_confirmed(row, now=now)
    set_companion(newsletter, KEY, is_on=True)


@transaction.atomic
def switch_off(newsletter: Subscribable, *, now: datetime) -> None:
    """Write no more records. Existing ones stay. Idempotent."""
    set_companion(newsletter, KEY, is_on=False)
    _leave(newsletter, now=now)


def _leave(newsletter: Subscribable, *, now: datetime, but: Destination | None = None) -> None:
    rows = Subscription.objects.confirmed().filter(subscribable=newsletter, destination__kind=KEY)
    for row in rows.exclude(destination=but):
        leave(subscription=row, now=now)


def records_of(newsletter: Subscribable, *, issue_id: int | None = None) -> Records:
    """Return the addresses, for pages that prove them. One query, only where it is on."""
    if not is_on(newsletter):
        return NO_RECORDS
    gone = Delivery.objects.filter(
        kind=Delivery.Kind.DELETE,
        issue=None,
        key=Concat(Cast(OuterRef("pk"), CharField()), DELETION),
        state=Delivery.State.SENT,
    )
    facts = {"kind": Delivery.Kind.ISSUE, "state": Delivery.State.SENT, "issue": issue_id}
    written = Delivery.objects.filter(~Exists(gone), destination=OuterRef("destination"), **facts)
    rows = Subscription.objects.confirmed().filter(subscribable=newsletter, destination__kind=KEY)
    row = rows.values_list("destination__core", Subquery(written.values("remote_id")[:1])).first()
    if row is None:
        return NO_RECORDS
    return Records(publication_uri(row[0], page_url(newsletter)), row[1] or "")
