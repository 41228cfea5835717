import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext, ngettext

from common import signing
from common.db.bulk import save_new
from common.db.prepared import rows_of
from common.net.addresses import is_near
from common.ports import channels
from common.ports.channels import ParsedDestination
from common.ports.events import Event, EventKind, emit
from common.rates import HOUR, Limit, OverLimit, check_rows, count_rows, count_within
from common.refused import Refused
from common.secrets import opened
from subscriptions import links
from subscriptions.models import Consent, Destination, Subscribable, Subscription, Suppression, UpstreamSalt
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import (
    LARGEST_ID,
    LONGEST_LANGUAGE,
    MOST_CHOSEN_AT_ONCE,
    SignUpReply,
    Suffix,
    answer,
    is_invited,
    noted,
    number_here,
    remembered,
    tidy_name,
)
from subscriptions.subscribers.antispam import PROXY, note_proxy, note_refusal, phone_uses, sign_up_uses
from subscriptions.subscribers.consent import confirming, consent, record_consents
from subscriptions.subscribers.notices import (
    ask_to_confirm,
    renew_nonce,
    say_already,
    send_code,
    subscriptions_of_code,
    welcome,
)

KNOWN = f"""
    SELECT EXISTS (SELECT 1 FROM {Suppression._meta.db_table} WHERE kind = %s AND core = %s), id, disabled_at
    FROM (SELECT 1 AS one) always LEFT JOIN {Destination._meta.db_table} ON kind = %s AND core = %s
"""  # noqa: S608
UNCONFIRMED = Subscription.Status.UNCONFIRMED
# A concurrent sign-up may insert the same row; the next try finds it.
TRIES = 3
# Nearby, more are several visitors of a proxy that names none, as Docker's bridge.
ONE_VISITOR = Limit("nearby", 10, HOUR)
_ID = re.compile(r"[0-9]{1,19}", re.ASCII)
_OLD = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SignUpRequest:
    subscribables: list[Subscribable]
    parsed: ParsedDestination
    name: str
    origin: Origin
    language: str
    now: datetime


def answer_all(asked: SignUpRequest) -> bool:
    """Return whether there is a mail. Run it in a transaction.

    Raises IntegrityError on a concurrent sign-up of the address.
    """
    kind, parsed = asked.subscribables[0].channel, asked.parsed
    # Plain SQL, because every sign-up asks.
    ((is_suppressed, pk, is_disabled),) = rows_of(connection, KNOWN, [kind, parsed.core, kind, parsed.core])
    if is_suppressed or is_disabled:
        return False
    there: dict[int, Subscription] = {}
    if pk is None:
        destination = Destination(
            kind=kind, core=parsed.core, label=parsed.label, config=parsed.config, added_at=asked.now
        )
    else:
        # Anyone can type any address, so a sign-up never changes an existing Destination.
        destination = Destination.objects.get(pk=pk)
        known = Subscription.objects.filter(destination=destination, subscribable__in=asked.subscribables)
        locked = known.select_for_update(no_key=True).order_by("pk")
        there = {row.subscribable_id: row for row in locked}
    waiting, already = [], []
    for subscribable in asked.subscribables:
        row = there.get(subscribable.pk) or Subscription(added_at=asked.now)
        row.subscribable, row.destination = subscribable, destination
        reply = answer(row.status, earlier=remembered(row.notices_at), now=asked.now)
        if reply is SignUpReply.CONFIRM:
            waiting.append(row)
        elif reply is SignUpReply.ALREADY:
            already.append(row)
    _save(waiting, already, asked)
    if channels.get(kind).is_by_code:
        # The code lets subscribers manage subscriptions.
        send_code([*waiting, *already], now=asked.now, language=asked.language)
    elif waiting:
        ask_to_confirm(waiting, already=already, now=asked.now, language=asked.language)
    elif already:
        language = already[0].language or asked.language
        say_already(already, now=asked.now, language=language)
    return bool(waiting or already)


def _save(waiting: Sequence[Subscription], already: Sequence[Subscription], asked: SignUpRequest) -> None:
    begun = [row for row in waiting if not row.pk or row.status != UNCONFIRMED]
    for row in waiting:
        row.status, row.asked_name = UNCONFIRMED, asked.name
        row.language = asked.language or row.language
        renew_nonce(row)
    rows = [*waiting, *already]
    for row in rows:
        row.notices_at = noted(row.notices_at, asked.now)
    if rows and not rows[0].destination.pk:
        save_new([rows[0].destination])
    fresh = [row for row in rows if not row.pk]
    for row in fresh:
        row.destination = rows[0].destination
    save_new(fresh)
    for row in rows:
        if row not in fresh:
            row.save()
    save_new([consent(row, Consent.Act.ASKED, asked.origin, at=asked.now) for row in waiting])
    emit(Event(EventKind.CREATED, tuple(row.pk for row in begun), asked.now))


class SignUpClosed(Refused):
    """The message is for the reader."""


class SpentConfirmLink(signing.TokenError):
    """`page_url`: where to request a new one, if anywhere."""

    def __init__(self, message: str, subscription: Subscription) -> None:
        super().__init__(message)
        self.page_url = links.page_url(subscription.subscribable)


def is_open(subscribable: Subscribable) -> bool:
    """Never for bridges."""
    open_ = subscribable.sign_up == Subscribable.SignUp.OPEN and not subscribable.stopped
    return open_ and channels.get(subscribable.channel).public_sign_up


def is_by_code(subscribable: Subscribable) -> bool:
    return channels.get(subscribable.channel).is_by_code


def refuse_closed(subscribables: Sequence[Subscribable]) -> None:
    """Raise SignUpClosed unless all are open and of one channel."""
    if not subscribables:
        raise SignUpClosed(gettext("Choose a newsletter."))
    if len(subscribables) > MOST_CHOSEN_AT_ONCE:
        raise SignUpClosed(at_most_at_once())
    for each in subscribables:
        if not is_open(each) or each.channel != subscribables[0].channel:
            message = gettext("%(newsletter)s is closed to new subscribers.")
            raise SignUpClosed(message % {"newsletter": each})


def at_most_at_once() -> str:
    words = ngettext(
        "Choose at most %(most)s newsletter at a time.",
        "Choose at most %(most)s newsletters at a time.",
        MOST_CHOSEN_AT_ONCE,
    )
    return words % {"most": MOST_CHOSEN_AT_ONCE}


def sign_up(
    *,
    subscribables: Sequence[Subscribable],
    email: str,
    name: str,
    origin: Origin,
    now: datetime,
    language: str = "",
) -> None:
    """Only a mail reveals whether the address is known.

    Raises InvalidDestination and as `sign_up_parsed`.
    """
    refuse_closed(subscribables)
    sign_up_parsed(
        subscribables=subscribables,
        parsed=channels.get(subscribables[0].channel).parse_destination({"email": email}),
        name=name,
        origin=origin,
        now=now,
        language=language,
    )


def sign_up_parsed(
    *,
    subscribables: Sequence[Subscribable],
    parsed: ParsedDestination,
    name: str,
    origin: Origin,
    now: datetime,
    language: str = "",
) -> None:
    """Raises SignUpClosed, and OverLimit if it isn't for a robot only."""
    refuse_closed(subscribables)
    asked = SignUpRequest(
        subscribables=sorted(subscribables, key=lambda each: each.pk),
        parsed=parsed,
        name=tidy_name(name) or tidy_name(parsed.display_name),
        origin=origin,
        language=language[:LONGEST_LANGUAGE],
        now=now,
    )
    try:
        _answer_within_limits(asked)
    except OverLimit as over:
        reason = note_refusal(over, subscribables=asked.subscribables, now=now)
        # Our settings, or a website's server, which must know.
        if reason == PROXY or (reason == "ip" and origin.how == How.API):
            raise


def _answer_within_limits(asked: SignUpRequest) -> None:
    newsletters, origin = asked.subscribables, asked.origin
    if is_near(origin.ip) and not count_within(*ONE_VISITOR.by_network(origin.ip)):
        note_proxy(origin.ip)
    facts = {"core": asked.parsed.core, "ip": origin.ip, "claimed": origin.claimed}
    uses = [*sign_up_uses(**facts, subscribables=newsletters)]
    if is_by_code(newsletters[0]):
        uses += phone_uses(**facts, newsletter=newsletters[0])
    checked = check_rows(uses, asked.now)
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                if answer_all(asked):
                    count_rows(checked)
            return
        except IntegrityError:
            if not left:
                raise


def subscriptions_of_link(*, token: str, now: datetime, lock: bool = False) -> list[Subscription]:
    """Return unconfirmed and confirmed ones. Raises TokenError."""
    try:
        nonces, expired = signing.read(links.CONFIRM, token, now=now), False
    except signing.TokenExpired as error:
        nonces, expired = dict(error.payload), True
    keys = [key for key in nonces if key.isdecimal()]
    rows = Subscription.objects.select_related("subscribable", "destination").filter(pk__in=keys)
    subscriptions = list((rows.select_for_update(of=("self",), no_key=True) if lock else rows).order_by("pk"))
    if not subscriptions:
        raise signing.TokenError(gettext(links.GONE))
    if expired:
        hours = settings.CONFIRM_HOURS
        sentence = ngettext(
            "This link has expired. It worked for %(hours)s hour.",
            "This link has expired. It worked for %(hours)s hours.",
            hours,
        )
        again = gettext("Subscribe again to get a new one.")
        raise SpentConfirmLink(f"{sentence % {'hours': hours}} {again}", subscriptions[0])
    good = []
    for each in subscriptions:
        nonce = nonces[str(each.pk)]
        is_asked = each.status == UNCONFIRMED and bool(nonce) and links.short_nonce(each) == nonce
        if is_asked or each.status == Subscription.Status.CONFIRMED:
            good.append(each)
    if not good:
        sentence = gettext("This link no longer works, because you left after it was sent.")
        again = gettext("Subscribe again to get a new one.")
        raise SpentConfirmLink(f"{sentence} {again}", subscriptions[0])
    return good


@transaction.atomic
def confirm_subscriptions(*, token: str, now: datetime, origin: Origin | None = None) -> list[Subscription]:
    """Idempotent. Raises TokenError."""
    subscriptions = subscriptions_of_link(token=token, now=now, lock=True)
    confirm_waiting(subscriptions, now=now, origin=origin or Origin())
    return subscriptions


@transaction.atomic
def confirm_by_code(*, kind: str, core: str, typed: str, now: datetime, origin: Origin) -> list[Subscription]:
    """Return none for a wrong code."""
    subscriptions = subscriptions_of_code(kind=kind, core=core, typed=typed, now=now)
    confirm_waiting(subscriptions, now=now, origin=origin)
    return subscriptions


def confirm_waiting(subscriptions: Sequence[Subscription], *, now: datetime, origin: Origin) -> None:
    waiting = [each for each in subscriptions if each.status == UNCONFIRMED]
    for each in waiting:
        each.display_name = each.asked_name or each.display_name
        mark_confirmed(each, now=now)
    record_consents(confirming(each, origin, at=now) for each in waiting)
    welcome(waiting, now=now, zone=origin.zone)


@transaction.atomic
def take_newsletter(
    *, reader: Destination, subscribable: Subscribable, origin: Origin, now: datetime
) -> bool:
    """Subscribe without another mail. Raises SignUpClosed."""
    if reader.suppression is not None or reader.disabled_at is not None:
        raise SignUpClosed(gettext("Nothing may be sent to your address now."))
    if not is_open(subscribable) or subscribable.channel != reader.kind:
        message = gettext("%(newsletter)s is closed to new subscribers.")
        raise SignUpClosed(message % {"newsletter": subscribable})
    rows = Subscription.objects.select_for_update(no_key=True)
    row, _ = rows.get_or_create(subscribable=subscribable, destination=reader, defaults={"added_at": now})
    if row.status == Subscription.Status.CONFIRMED and row.ended_at is None:
        return False
    row.ended_at = row.receives_from = row.receives_until = None
    row.subscribable, row.destination = subscribable, reader
    mark_confirmed(row, now=now)
    record_consents([confirming(row, origin, at=now)])
    welcome([row], now=now)
    return True


def mark_confirmed(subscription: Subscription, *, now: datetime) -> None:
    """Run it in a transaction, on a locked, unconfirmed row."""
    subscription.status = Subscription.Status.CONFIRMED
    subscription.confirmed_at = now
    subscription.left_at = subscription.paused_until = subscription.undo_until = None
    subscription.confirm_nonce = ""
    subscription.asked_name = subscription.left_why = ""
    subscription.save()
    emit(Event(EventKind.CONFIRMED, (subscription.pk,), now))


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
