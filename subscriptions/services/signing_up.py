"""A reader's own acts: asking for a newsletter, and confirming that."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from common import kinds, signing
from common.kinds import ParsedDestination
from subscriptions import links
from subscriptions.models import Destination, Subscribable, Subscription, Suppression
from subscriptions.rules.sign_up import Answer, Standing, answer, tidy_name
from subscriptions.services.notifying import (
    ask_to_confirm,
    earlier_notices,
    history_key,
    remember_notice,
    say_already,
)


class SignUpClosed(ValueError):
    """The newsletter takes no sign-ups. The message is a sentence for the reader."""


class SpentLink(signing.TokenError):
    """A confirmation link whose time is over; `page_url` is where to ask for a fresh one, if there is one."""

    def __init__(self, message: str, subscription: Subscription) -> None:
        super().__init__(message)
        self.page_url = links.page_url(subscription.subscribable)


USED = "This link no longer works, because you left after it was sent. Subscribe again to get a fresh one."
EXPIRED = "This link has expired: it was good for {hours} hours. Subscribe again to get a fresh one."


def is_open(subscribable: Subscribable) -> bool:
    """Whether readers may sign up: bridges and stopped newsletters never take anyone."""
    open_ = subscribable.sign_up == Subscribable.SignUp.OPEN and not subscribable.stopped
    return open_ and kinds.get(subscribable.channel).public_sign_up


def sign_up(*, subscribable: Subscribable, email: str, name: str, now: datetime, language: str = "") -> None:
    """Silent: whoever asks learns nothing about the address; what there is to say goes there by mail.

    Raises InvalidDestination when it is no address at all, and SignUpClosed.
    """
    if not is_open(subscribable):
        raise SignUpClosed(f"{subscribable} takes no new subscribers at the moment.")
    parsed = kinds.get(subscribable.channel).parse_destination({"email": email})
    key = history_key(subscribable.pk, parsed.core)
    earlier = earlier_notices(key)
    asked = tidy_name(name) or tidy_name(parsed.display_name)
    with transaction.atomic():
        done = _answer(subscribable, parsed, asked=asked, earlier=earlier, now=now, language=language)
    if done is not Answer.NOTHING:
        remember_notice(key, now=now)


def _answer(
    subscribable: Subscribable,
    parsed: ParsedDestination,
    *,
    asked: str,
    earlier: list[datetime],
    now: datetime,
    language: str,
) -> Answer:
    if Suppression.objects.filter(kind=subscribable.channel, core=parsed.core).exists():
        return Answer.NOTHING
    subscription = _subscription(subscribable, parsed, now=now)
    last = subscription.last_notice_at
    standing = Standing(subscription.status, blocked=subscription.destination.disabled_at is not None)
    given = answer(standing, earlier={*earlier, *filter(None, [last])}, now=now)
    if given is Answer.CONFIRM:
        subscription.status = Subscription.Status.UNCONFIRMED
        subscription.asked_name = asked
        subscription.language = language or subscription.language
        ask_to_confirm(subscription, now=now, language=language)
    elif given is Answer.ALREADY:
        say_already(subscription, now=now, language=subscription.language or language)
    return given


def _subscription(subscribable: Subscribable, parsed: ParsedDestination, *, now: datetime) -> Subscription:
    """The row, locked. A sign-up never changes a Destination that is there: anyone can type any address."""
    destination, _ = Destination.objects.get_or_create(
        kind=subscribable.channel,
        core=parsed.core,
        defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
    )
    subscription, _ = Subscription.objects.select_for_update(no_key=True).get_or_create(
        subscribable=subscribable, destination=destination, defaults={"added_at": now}
    )
    return subscription


def awaiting(*, token: str, now: datetime, lock: bool = False) -> Subscription:
    """The subscription a confirmation link is about: waiting, or confirmed already. Raises TokenError."""
    payload: Mapping[str, Any]
    try:
        payload, expired = signing.read(links.CONFIRM, token, now=now), False
    except signing.TokenExpired as error:
        payload, expired = error.payload, True
    rows = Subscription.objects.select_related("subscribable", "destination").filter(pk=payload["id"])
    found = (rows.select_for_update(of=("self",), no_key=True) if lock else rows).first()
    if found is None:
        raise signing.TokenError(links.GONE)
    if expired:
        raise SpentLink(EXPIRED.format(hours=settings.CONFIRM_HOURS), found)
    waits = found.status == Subscription.Status.UNCONFIRMED and found.confirm_nonce == payload["nonce"]
    if not waits and found.status != Subscription.Status.CONFIRMED:
        raise SpentLink(USED, found)
    return found


@transaction.atomic
def confirm(*, token: str, now: datetime) -> Subscription:
    """Confirms; a second time changes nothing. Raises TokenError for a link that no longer stands."""
    subscription = awaiting(token=token, now=now, lock=True)
    if subscription.status == Subscription.Status.UNCONFIRMED:
        subscription.display_name = subscription.asked_name or subscription.display_name
        mark_confirmed(subscription, now=now)
    return subscription


def mark_confirmed(subscription: Subscription, *, now: datetime) -> None:
    """Within the caller's transaction, on a locked row that is not confirmed yet."""
    subscription.status = Subscription.Status.CONFIRMED
    subscription.confirmed_at = now
    subscription.left_at = None
    subscription.confirm_nonce = ""
    subscription.asked_name = ""
    subscription.save()
