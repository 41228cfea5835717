"""Codes of six digits that are sent to a phone, and typed by whoever signed it up.

No code is stored, nor anything it could be worked out from without our key.
"""

import hmac
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import F

from common.db.bulk import save_new
from common.signing import stamp
from subscriptions.models import Notice, SignUpCode, Subscription

# The template of a notice that is such a code, which the delivery app knows.
CODE = "code"
CODE_GOOD_FOR = timedelta(minutes=10)
MOST_TRIES = 5
DIGITS = 6


def code_of(nonce: str) -> str:
    """The six digits that stand for a nonce."""
    return f"{int(stamp('sign-up-code', nonce), 16) % 10**DIGITS:0{DIGITS}}"


def send_code(subscriptions: Sequence[Subscription], *, now: datetime, language: str) -> None:
    """A code for all of them, which are saved rows of one destination; within the caller's transaction.

    It takes the place of an earlier one, and of what that was for and is still open.
    """
    if not subscriptions:
        return
    first = subscriptions[0]
    to, keys, nonce = first.destination, {each.pk for each in subscriptions}, secrets.token_hex(16)
    earlier = SignUpCode.objects.select_for_update().filter(destination=to, expires_at__gt=now).first()
    keys |= set(earlier.subscriptions) if earlier else set()
    fresh = {"nonce": nonce, "subscriptions": sorted(keys), "tries": 0, "expires_at": now + CODE_GOOD_FOR}
    SignUpCode.objects.update_or_create(destination=to, defaults=fresh)
    notice = Notice(
        kind=Notice.Kind.CONFIRMATION,
        key=f"code-{first.pk}-{now:%Y%m%dT%H%M%S.%f}",
        destination=to,
        subscription=first,
        template=CODE,
        language=language,
        context={
            "newsletter": str(first.subscribable),
            "nonce": nonce,
            "expires": (now + CODE_GOOD_FOR).timestamp(),
        },
        created_at=now,
    )
    save_new([notice])


def is_late(expires: float, now: datetime) -> bool:
    """Whether a notice's code is of no use any more."""
    return now >= datetime.fromtimestamp(expires, UTC)


def subscriptions_of_code(*, kind: str, core: str, typed: str, now: datetime) -> list[Subscription]:
    """The subscriptions that the typed code is for, locked; none if it is not the code, or no longer.

    A code is good once, for ten minutes and five tries. In the caller's transaction, which must not be rolled
    back for a wrong one.
    """
    digits = "".join(char for char in typed if char in "0123456789")
    open_ = SignUpCode.objects.filter(destination__kind=kind, destination__core=core, expires_at__gt=now)
    found = open_.select_for_update(of=("self",)).filter(tries__lt=MOST_TRIES).first()
    # Where there is none, it takes as long to say so.
    is_right = hmac.compare_digest(code_of(found.nonce if found else ""), digits)
    if found is None:
        return []
    if not is_right:
        SignUpCode.objects.filter(pk=found.pk, tries__lt=MOST_TRIES).update(tries=F("tries") + 1)
        return []
    rows = Subscription.objects.select_related("subscribable", "destination").filter(
        pk__in=found.subscriptions, destination=found.pk
    )
    there = list(rows.select_for_update(of=("self",), no_key=True).order_by("pk"))
    found.delete()
    return [each for each in there if each.status != Subscription.Status.UNSUBSCRIBED]
