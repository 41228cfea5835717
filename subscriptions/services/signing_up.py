"""A reader's own acts: asking for newsletters, and confirming that."""

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from common import kinds, signing
from common.events import Event, Kind, emit
from subscriptions import links
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.rules.sign_up import MOST_AT_ONCE, tidy_name
from subscriptions.services import limiting
from subscriptions.services.consenting import confirming, record_consents
from subscriptions.services.sign_up_rows import Asked, answer_all
from subscriptions.services.welcoming import welcome

# A second sign-up at the same moment made the row first: once more, and it is found.
TRIES = 3
LONGEST_LANGUAGE = 35


class SignUpClosed(ValueError):
    """The newsletters take no sign-ups. The message is a sentence for the reader."""


class SpentLink(signing.TokenError):
    """A confirmation link whose time is over; `page_url` is where to ask for a fresh one, if there is one."""

    def __init__(self, message: str, subscription: Subscription) -> None:
        super().__init__(message)
        self.page_url = links.page_url(subscription.subscribable)


def is_open(subscribable: Subscribable) -> bool:
    """Whether readers may sign up: bridges and stopped newsletters never take anyone."""
    open_ = subscribable.sign_up == Subscribable.SignUp.OPEN and not subscribable.stopped
    return open_ and kinds.get(subscribable.channel).public_sign_up


def sign_up(
    *,
    subscribables: Sequence[Subscribable],
    email: str,
    name: str,
    origin: Origin,
    now: datetime,
    language: str = "",
) -> None:
    """Silent: whoever asks learns nothing about the address; what there is to say goes there in one mail.

    Raises InvalidDestination when it is no address at all, and SignUpClosed.
    """
    _refuse_closed(subscribables)
    parsed = kinds.get(subscribables[0].channel).parse_destination({"email": email})
    asked = Asked(
        subscribables=sorted(subscribables, key=lambda each: each.pk),
        parsed=parsed,
        name=tidy_name(name) or tidy_name(parsed.display_name),
        origin=origin,
        language=language[:LONGEST_LANGUAGE],
        now=now,
    )
    try:
        _answer_within_limits(asked)
    except limiting.OverLimit as over:
        limiting.note_refusal(over, subscribables=asked.subscribables, ip=origin.ip, now=now)


def _refuse_closed(subscribables: Sequence[Subscribable]) -> None:
    if not subscribables:
        raise SignUpClosed(gettext("Choose a newsletter."))
    if len(subscribables) > MOST_AT_ONCE:
        raise SignUpClosed(gettext("Choose at most %(most)s newsletters at a time.") % {"most": MOST_AT_ONCE})
    for each in subscribables:
        if not is_open(each) or each.channel != subscribables[0].channel:
            said = gettext("%(newsletter)s takes no new subscribers at the moment.")
            raise SignUpClosed(said % {"newsletter": each})


def _answer_within_limits(asked: Asked) -> None:
    draws = limiting.draws(
        core=asked.parsed.core, ip=asked.origin.ip, subscribables=asked.subscribables, now=asked.now
    )
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                if answer_all(asked):
                    limiting.take(draws)
            return
        except IntegrityError:
            if not left:
                raise


def awaiting(*, token: str, now: datetime, lock: bool = False) -> list[Subscription]:
    """The subscriptions a confirmation link is about: waiting, or confirmed already. Raises TokenError."""
    try:
        nonces, expired = signing.read(links.CONFIRM, token, now=now), False
    except signing.TokenExpired as error:
        nonces, expired = dict(error.payload), True
    keys = [key for key in nonces if key.isdecimal()]
    rows = Subscription.objects.select_related("subscribable", "destination").filter(pk__in=keys)
    found = list((rows.select_for_update(of=("self",), no_key=True) if lock else rows).order_by("pk"))
    if not found:
        raise signing.TokenError(gettext(links.GONE))
    if expired:
        raise SpentLink(_expired(), found[0])
    good = [each for each in found if _is_good(each, nonces[str(each.pk)])]
    if not good:
        said = gettext("This link no longer works, because you left after it was sent.")
        again = gettext("Subscribe again to get a fresh one.")
        raise SpentLink(f"{said} {again}", found[0])
    return good


def _expired() -> str:
    said = gettext("This link has expired: it was good for %(hours)s hours.")
    again = gettext("Subscribe again to get a fresh one.")
    return f"{said % {'hours': settings.CONFIRM_HOURS}} {again}"


def _is_good(subscription: Subscription, nonce: str) -> bool:
    if subscription.status == Subscription.Status.UNCONFIRMED:
        return bool(nonce) and links.short_nonce(subscription) == nonce
    return subscription.status == Subscription.Status.CONFIRMED


@transaction.atomic
def confirm(*, token: str, now: datetime, origin: Origin | None = None) -> list[Subscription]:
    """Confirms all that a link is about; a second time changes nothing.

    Raises TokenError for a link that no longer stands.
    """
    subscriptions = awaiting(token=token, now=now, lock=True)
    waiting = [each for each in subscriptions if each.status == Subscription.Status.UNCONFIRMED]
    for each in waiting:
        each.display_name = each.asked_name or each.display_name
        mark_confirmed(each, now=now)
    record_consents(confirming(each, origin or Origin(), at=now) for each in waiting)
    welcome(waiting, now=now)
    return subscriptions


def mark_confirmed(subscription: Subscription, *, now: datetime) -> None:
    """Within the caller's transaction, on a locked row that is not confirmed yet."""
    subscription.status = Subscription.Status.CONFIRMED
    subscription.confirmed_at = now
    subscription.left_at = subscription.paused_until = subscription.undo_until = None
    subscription.confirm_nonce = ""
    subscription.asked_name = ""
    subscription.save()
    emit(Event(Kind.CONFIRMED, (subscription.pk,), now))
