import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F

from common.clock import utcnow
from common.db.bulk import save_new
from common.ports.events import Event, EventKind, emit
from common.signing import stamp
from subscriptions import links
from subscriptions.models import Notice, SignUpCode, Subscribable, Subscription
from subscriptions.models.subscription import SubscriptionQuerySet
from subscriptions.rules.sign_up import SignUpReply
from subscriptions.subscribers.series import begin_series

# Known to the delivery app.
CODE = "code"
CODE_GOOD_FOR = timedelta(minutes=10)
MOST_TRIES = 5
DIGITS = 6
CONFIRM_SEVERAL = "confirm_several"
ALREADY_SEVERAL = "already_several"
# Known to the delivery app.
LATEST = "latest"


def tell_changed(rows: SubscriptionQuerySet) -> None:
    """Runs in the caller's transaction."""
    current = rows.exclude(status=Subscription.Status.UNSUBSCRIBED).filter(ended_at=None).order_by("pk")
    emit(Event(EventKind.UPDATED, tuple(current.values_list("pk", flat=True)), utcnow()))


# No context holds text that a stranger chose.


def renew_nonce(subscription: Subscription) -> None:
    """Keep a pending nonce, so that the earlier mail works too."""
    subscription.confirm_nonce = subscription.confirm_nonce or secrets.token_urlsafe(16)


def ask_to_confirm(
    waiting: Sequence[Subscription], *, already: Sequence[Subscription] = (), now: datetime, language: str
) -> None:
    """Request one mail, in the caller's transaction.

    `waiting`: saved rows of one address with a nonce. `already`: confirmed ones of that sign-up.
    """
    context: dict[str, Any] = {
        "confirm_url": links.confirm_url(*waiting, now=now),
        "hours": str(settings.CONFIRM_HOURS),
    }
    template = SignUpReply.CONFIRM.value
    if len(waiting) + len(already) > 1:
        context |= {"newsletters": _titles(waiting), "already": _titles(already)}
        template = CONFIRM_SEVERAL
    kind = Notice.Kind.CONFIRMATION
    save_new([notice_of(waiting[0], kind, template, context, now=now, language=language)])


def say_already(confirmed: Sequence[Subscription], *, now: datetime, language: str) -> None:
    """Request one mail, in the caller's transaction."""
    first, kind = confirmed[0], Notice.Kind.CONFIRMATION
    template = SignUpReply.ALREADY.value
    context: dict[str, Any] = {
        "manage_url": links.manage_url(first),
        "unsubscribe_url": links.unsubscribe_url(first),
    }
    if len(confirmed) > 1:
        context = {"newsletters": [[str(each.subscribable), links.manage_url(each)] for each in confirmed]}
        template = ALREADY_SEVERAL
    save_new([notice_of(first, kind, template, context, now=now, language=language)])


def _titles(subscriptions: Iterable[Subscription]) -> list[str]:
    return [str(each.subscribable) for each in subscriptions]


def notice_of(
    subscription: Subscription,
    kind: Notice.Kind,
    template: str,
    context: Mapping[str, Any],
    *,
    now: datetime,
    language: str,
    name: str = "subscription",
) -> Notice:
    """Return an unsaved row about a subscription. Its key begins with `name`."""
    newsletter = subscription.subscribable
    return Notice(
        kind=kind,
        key=f"{name}-{subscription.pk}-{now:%Y%m%dT%H%M%S.%f}",
        destination=subscription.destination,
        subscription=subscription,
        template=template,
        language=language,
        context={"newsletter": str(newsletter), "page_url": links.page_url(newsletter), **context},
        created_at=now,
    )


def welcome(confirmed: Sequence[Subscription], *, now: datetime, zone: str = "") -> None:
    """Runs in the caller's transaction. `zone`: as the browser names it."""
    begin_series(confirmed, now=now, zone=zone)
    notices = []
    for each in confirmed:
        what = each.subscribable.welcome
        if what not in (Subscribable.Welcome.NONE, Subscribable.Welcome.SERIES):
            template = LATEST if what == Subscribable.Welcome.LATEST else "welcome"
            notice = notice_of(each, Notice.Kind.WELCOME, template, {}, now=now, language=each.language)
            notices.append(notice)
    Notice.objects.bulk_create(notices, ignore_conflicts=True)


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
    context = {"nonce": nonce, "expires": (now + CODE_GOOD_FOR).timestamp()}
    kind = Notice.Kind.CONFIRMATION
    save_new([notice_of(first, kind, CODE, context, now=now, language=language, name="code")])


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
