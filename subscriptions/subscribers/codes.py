"""Six-digit codes, derived from stored nonces with our key."""

import hmac
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import F

from common.db.bulk import save_new
from common.signing import stamp
from subscriptions.models import Notice, SignUpCode, Subscription

# Known to the delivery app.
CODE = "code"
CODE_GOOD_FOR = timedelta(minutes=10)
MOST_TRIES = 5
DIGITS = 6


def code_of(nonce: str) -> str:
    return f"{int(stamp('sign-up-code', nonce), 16) % 10**DIGITS:0{DIGITS}}"


def send_code(subscriptions: Sequence[Subscription], *, now: datetime, language: str) -> None:
    """Send one code for rows of one destination, in the caller's transaction. Replaces an earlier one."""
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
    return now >= datetime.fromtimestamp(expires, UTC)


def subscriptions_of_code(*, kind: str, core: str, typed: str, now: datetime) -> list[Subscription]:
    """Return locked subscriptions, or none for a wrong code.

    A code works once, for ten minutes and five tries. The caller must not roll back after a wrong one.
    """
    digits = "".join(char for char in typed if char in "0123456789")
    open_ = SignUpCode.objects.filter(destination__kind=kind, destination__core=core, expires_at__gt=now)
    code = open_.select_for_update(of=("self",)).filter(tries__lt=MOST_TRIES).first()
    # Compared even without a code, to take the same time.
    is_right = hmac.compare_digest(code_of(code.nonce if code else ""), digits)
    if code is None:
        return []
    if not is_right:
        SignUpCode.objects.filter(pk=code.pk, tries__lt=MOST_TRIES).update(tries=F("tries") + 1)
        return []
    rows = Subscription.objects.select_related("subscribable", "destination").filter(
        pk__in=code.subscriptions, destination=code.pk
    )
    there = list(rows.select_for_update(of=("self",), no_key=True).order_by("pk"))
    code.delete()
    return [each for each in there if each.status != Subscription.Status.UNSUBSCRIBED]
