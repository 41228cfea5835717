"""Subscriptions of upstream's links."""

import re
from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from common import signing
from common.secrets import opened
from subscriptions.models import Subscription, UpstreamSalt
from subscriptions.rules.invitations import LARGEST_ID, Suffix, is_invited, number_here
from subscriptions.subscribers.notices import renew_nonce

_ID = re.compile(r"[0-9]{1,19}", re.ASCII)
_OLD = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


class Uncheckable(signing.TokenError):
    """Possibly valid link, which cannot be checked without the salt."""


class Gone(signing.TokenError):
    """Valid link to a deleted subscription."""


def subscription_of(*, subscription_id: str, invitation: str, suffix: Suffix) -> Subscription | None:
    """Return the subscription if its database's salt proves the link, None if only our own proof can help.

    Upstream gave our keys to other people, so its proof is invalid for them. Raises TokenError.
    """
    if not _ID.fullmatch(subscription_id) or int(subscription_id) > LARGEST_ID:
        raise signing.TokenError(gettext(signing.BROKEN))
    number, salts = int(subscription_id), upstream_salts()
    places = [place for place, salt in salts if is_invited(number, invitation, salt=salt, suffix=suffix)]
    rows = Subscription.objects.select_related("subscribable", "destination")
    for here in (number_here(number, place) for place in places):
        known = rows.filter(upstream_id=here).first() or rows.filter(old_numbers__number=here).first()
        if known is not None:
            return known
    if places:
        raise Gone(gettext("This subscription no longer exists, so you won’t get any more issues."))
    if not salts and _OLD.fullmatch(invitation):
        raise Uncheckable(
            gettext("This link was made before the newsletter moved here, and it cannot be checked any more.")
        )
    return None


def upstream_salts() -> list[tuple[int, str]]:
    """Return each known salt with the place of its database."""
    salts = [(0, settings.UPSTREAM_SALT)] if settings.UPSTREAM_SALT else []
    for row in UpstreamSalt.objects.order_by("place"):
        # Unreadable since SECRET_KEY changed.
        with suppress(ValueError):
            salts += [(row.place, salt) for salt in opened(row.secrets).values()]
    return list(dict.fromkeys(salts))


def is_waiting(subscription: Subscription, *, now: datetime) -> bool:
    ends = subscription.added_at + timedelta(hours=settings.CONFIRM_HOURS)
    return subscription.status == Subscription.Status.UNCONFIRMED and now < ends


@transaction.atomic
def let_confirm(*, subscription: Subscription) -> None:
    locked = Subscription.objects.select_for_update(no_key=True).get(pk=subscription.pk)
    if locked.status == Subscription.Status.UNCONFIRMED and not locked.confirm_nonce:
        renew_nonce(locked)
        locked.save(update_fields=["confirm_nonce"])
    subscription.confirm_nonce, subscription.status = locked.confirm_nonce, locked.status
