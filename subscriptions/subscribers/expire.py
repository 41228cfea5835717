from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common.ports.registries import needed_destinations
from subscriptions.models import AddressChange, Consent, Destination, SignUpCode, Subscription

# Meanwhile an old link leads to a fresh one.
KEPT_AFTER_EXPIRY = timedelta(days=7)
EXPIRED_AT_ONCE = 500
CODES_FOR = timedelta(hours=1)


def expire_sign_ups(*, now: datetime) -> int:
    """Delete unconfirmed sign-ups and their unreferenced addresses.

    People who left before are unsubscribed again. Imported rows stay, as nobody was asked.
    """
    SignUpCode.objects.filter(expires_at__lt=now - CODES_FOR).delete()
    before = now - timedelta(hours=settings.CONFIRM_HOURS) - KEPT_AFTER_EXPIRY
    asked_since = Consent.objects.filter(subscription=OuterRef("pk"), at__gte=before)
    waiting = Subscription.objects.filter(status=Subscription.Status.UNCONFIRMED).exclude(confirm_nonce="")
    expired = waiting.filter(~Exists(asked_since), added_at__lt=before).order_by("pk")
    total = 0
    while True:
        with transaction.atomic():
            rows = list(
                expired.select_for_update(skip_locked=True, of=("self",), no_key=False)[:EXPIRED_AT_ONCE]
            )
            if not rows:
                return total
            left = [row.pk for row in rows if row.left_at is not None]
            gone = [row for row in rows if row.left_at is None]
            Subscription.objects.filter(pk__in=left).update(
                status=Subscription.Status.UNSUBSCRIBED, confirm_nonce="", asked_name=""
            )
            Subscription.objects.filter(pk__in=[row.pk for row in gone]).delete()
            drop_unused({row.destination_id for row in gone})
        total += len(rows)


def drop_unused(addresses: Collection[int]) -> None:
    # A disabled address records that mail does not arrive.
    unused = Destination.objects.filter(pk__in=addresses, subscriptions=None, disabled_at=None)
    waiting = AddressChange.objects.filter(Q(old=OuterRef("pk")) | Q(new=OuterRef("pk")))
    candidates = list(unused.filter(~Exists(waiting)).values_list("pk", flat=True))
    kept = {key for needs in needed_destinations for key in needs(candidates)}
    Destination.objects.filter(pk__in=set(candidates) - kept).delete()
