"""Change of a reader's address, confirmed at the new one.

The old address can undo it. Its letters' links keep working, as subscriptions keep their tokens.
"""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils.translation import gettext, ngettext

from common.ports import channels
from common.ports.events import Event, EventKind, emit
from common.rates import DAY, Limit, check_rows, count_rows, count_rows_within
from common.refused import Refused
from common.signing import TokenError
from subscriptions.models import (
    AddressChange,
    Consent,
    Destination,
    FrequencyChange,
    Notice,
    SignIn,
    SubscriberTag,
    Subscription,
)
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import LONGEST_LANGUAGE
from subscriptions.subscribers.antispam import sign_up_uses
from subscriptions.subscribers.consent import consent, record_consents
from subscriptions.subscribers.leave import drop_unused
from subscriptions.subscribers.notices import tell_changed
from subscriptions.subscribers.series import carry_series
from subscriptions.subscribers.sign_in import SIGN_IN_CHANNEL, digest_of, write_for_site
from subscriptions.subscribers.sign_up import mark_confirmed
from subscriptions.subscribers.tags import give

GOOD_FOR, UNDO_FOR = timedelta(hours=24), timedelta(days=14)
CHANGES = Limit("address changes", 5, DAY)
KEPT_FOR = timedelta(days=60)
DIGESTS = "address_change"
ADDRESS_CHANGED = {"how": "address changed"}
CONFIRMED, LEFT = Subscription.Status.CONFIRMED, Subscription.Status.UNSUBSCRIBED
_HOURS = int(GOOD_FOR.total_seconds() // 3600)


class CannotChangeAddress(Refused):
    """The message is for the signed-in reader."""


class SpentChangeLink(TokenError):
    """Used, expired or invalid link. The message is for the reader."""


def ask_for_change(*, reader: Destination, email: str, ip: str, now: datetime, language: str = "") -> None:
    """Mail a link. Known and unknown addresses get the same response.

    Raises InvalidDestination, CannotChangeAddress and OverLimit.
    """
    parsed = channels.get(SIGN_IN_CHANNEL).parse_destination({"email": email})
    if parsed.core == reader.core:
        raise CannotChangeAddress(gettext("We already send your newsletters to this address."), "email")
    if not _may_be_written_to(reader):
        raise CannotChangeAddress(
            gettext("This address is on our “Do not email” list, so it can’t be changed.")
        )
    with transaction.atomic():
        # A concurrent request waits, then sees this one's link.
        list(Destination.objects.select_for_update(no_key=True).filter(pk=reader.pk).values_list("pk"))
        count_rows(check_rows([(CHANGES, str(reader.pk)), *sign_up_uses(ip=ip, scopes=("ip",))], now))
        # Only the latest link works.
        reader.changes_away.filter(confirmed_at=None, expires_at__gt=now).update(expires_at=now)
        new = Destination.at(parsed, kind=SIGN_IN_CHANNEL, now=now)
        token = secrets.token_urlsafe(32)
        AddressChange.objects.create(
            old=reader,
            new=new,
            language=language[:LONGEST_LANGUAGE],
            asked_at=now,
            expires_at=now + GOOD_FOR,
            confirm_digest=digest_of(token, DIGESTS),
        )
        # The new address may be a stranger's, so the sign-up limits apply.
        uses = sign_up_uses(core=parsed.core, scopes=("address", "domain"))
        if _may_be_written_to(new) and count_rows_within(*uses, now=now):
            write_for_site(
                new,
                Notice.Kind.CONFIRMATION,
                "new_address",
                {"change_url": f"{settings.SITE_URL}/new-address/{token}/", "hours": str(_HOURS)},
                language=language,
                now=now,
            )


def _may_be_written_to(destination: Destination) -> bool:
    has_ended = destination.disabled_at or destination.erased_at
    return not has_ended and destination.suppression is None


def change_of_link(*, token: str, now: datetime) -> AddressChange:
    """Raises SpentChangeLink."""
    rows = AddressChange.objects.select_related("old", "new")
    change = rows.filter(confirm_digest=digest_of(token, DIGESTS)).first()
    if change is None:
        raise SpentChangeLink(gettext("This link is incomplete or expired long ago."))
    if change.confirmed_at is None and change.expires_at <= now:
        raise SpentChangeLink(gettext("This link has expired. Please ask for a new one."))
    if change.undone_at is not None:
        raise SpentChangeLink(gettext("This change was undone from the old address."))
    return change


def change_to_undo(*, token: str, now: datetime) -> AddressChange:
    """Raises SpentChangeLink."""
    rows = AddressChange.objects.select_related("old", "new")
    change = rows.filter(undo_digest=digest_of(token, DIGESTS)).first()
    if change is None or change.confirmed_at is None:
        raise SpentChangeLink(gettext("This link is incomplete or expired long ago."))
    if change.undone_at is None and change.confirmed_at + UNDO_FOR <= now:
        message = ngettext(
            "This link has expired. It worked for %(n)s day.",
            "This link has expired. It worked for %(n)s days.",
            UNDO_FOR.days,
        )
        raise SpentChangeLink(message % {"n": UNDO_FOR.days})
    return change


@transaction.atomic
def confirm_change(*, token: str, now: datetime, ip: str = "", words: str = "") -> AddressChange:
    """Move the subscriptions. Raises SpentChangeLink.

    Newsletters that the new address gets already are unchanged.
    """
    change = change_of_link(token=token, now=now)
    _lock(change)
    unused = AddressChange.objects.filter(pk=change.pk, confirmed_at=None, expires_at__gt=now)
    undo = secrets.token_urlsafe(32)
    if not unused.update(confirmed_at=now, undo_digest=digest_of(undo, DIGESTS)):
        raise SpentChangeLink(gettext("This link has already been used. It works only once."))
    change.refresh_from_db()
    if not _may_be_written_to(change.new) or not _may_be_written_to(change.old):
        raise SpentChangeLink(gettext("One of the two addresses is on our “Do not email” list."))
    origin = Origin(How.MANAGE, ip, words)
    change.carried = {"rows": _carry(change, now, origin), "tags": _carry_tags(change)}
    change.save(update_fields=["carried"])
    # Old links must not sign anybody in.
    SignIn.objects.filter(destination=change.old, used_at=None).delete()
    write_for_site(
        change.old,
        Notice.Kind.FAREWELL,
        "address_changed",
        {"undo_url": f"{settings.SITE_URL}/old-address/{undo}/", "days": str(UNDO_FOR.days)},
        language=change.language,
        now=now,
    )
    return change


def _lock(change: AddressChange) -> None:
    """Addresses before subscriptions, each by key, as everywhere."""
    both = Destination.objects.filter(pk__in=[change.old_id, change.new_id])
    list(both.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    rows = Subscription.objects.filter(destination__in=[change.old_id, change.new_id])
    list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk"))


def _carry(change: AddressChange, now: datetime, origin: Origin) -> list[list[Any]]:
    """Return the result for each confirmed subscription.

    “moved”: now at the new address. “joined”: ended, as the new address had the newsletter. “taken”: the new
    address, unsubscribed or unconfirmed before, is subscribed.
    """
    present = {row.subscribable_id: row for row in change.new.subscriptions.select_related("subscribable")}
    done: list[list[Any]] = []
    rows = change.old.subscriptions.filter(status=CONFIRMED).select_related("subscribable")
    for subscription in rows.order_by("pk"):
        there = present.get(subscription.subscribable_id) or _move(subscription, change.new, now)
        if there is None:
            done.append(["moved", subscription.pk])
            continue
        _end(subscription, now)
        if there.status == CONFIRMED and there.ended_at is None:
            done.append(["joined", subscription.pk])
            continue
        done.append(["taken", subscription.pk, there.pk, there.status])
        there.display_name = there.display_name or subscription.display_name
        there.language, paused = subscription.language, subscription.paused_until
        there.ended_at = there.receives_from = there.receives_until = None
        mark_confirmed(there, now=now)
        Subscription.objects.filter(pk=there.pk).update(paused_until=paused)
        carry_series({subscription.pk: there.pk})
        record_consents([consent(there, Consent.Act.SWITCHED, origin, at=now)])
        # For the links in letters to the old address.
        FrequencyChange.objects.create(
            old=subscription, new=there, rarer=subscription.subscribable, at=now, made_at=now, settled_at=now
        )
    return done


def _move(one: Subscription, new: Destination, now: datetime) -> Subscription | None:
    """Return None, or the subscription that the new address just got."""
    try:
        # A sign-up locks no address, so its row is visible only after its commit.
        with transaction.atomic():
            _readdress(one.pk, new, now)
    except IntegrityError:
        rows = new.subscriptions.select_for_update(no_key=True, of=("self",)).select_related("subscribable")
        return rows.get(subscribable=one.subscribable_id)
    return None


def _readdress(key: int, to: Destination, now: datetime) -> None:
    emit(Event(EventKind.LEFT, (key,), now, ADDRESS_CHANGED))
    Subscription.objects.filter(pk=key).update(destination=to)
    emit(Event(EventKind.CONFIRMED, (key,), now, ADDRESS_CHANGED))


def _end(subscription: Subscription, now: datetime) -> None:
    key = subscription.pk
    FrequencyChange.objects.filter(Q(old=key) | Q(new=key), settled_at=None).delete()
    rows = Subscription.objects.filter(pk=key)
    rows.update(status=LEFT, left_at=now, ended_at=None, undo_until=None, confirm_nonce="", asked_name="")
    emit(Event(EventKind.LEFT, (key,), now, ADDRESS_CHANGED))


def _carry_tags(change: AddressChange) -> dict[str, list[int]]:
    """Return the old address's tags, and those new to the new address."""
    had = list(change.old.taggings.values_list("tag_id", flat=True))
    there = set(change.new.taggings.values_list("tag_id", flat=True))
    given = [tag for tag in had if tag not in there]
    give([(change.new_id, tag) for tag in given])
    change.old.taggings.all().delete()
    if given:
        tell_changed(Subscription.objects.filter(destination=change.new_id))
    return {"had": had, "given": given}


@transaction.atomic
def undo_change(*, token: str, now: datetime) -> AddressChange:
    """Newsletters left meanwhile stay left. Raises SpentChangeLink."""
    change = change_to_undo(token=token, now=now)
    _lock(change)
    if not AddressChange.objects.filter(pk=change.pk, undone_at=None).update(undone_at=now):
        raise SpentChangeLink(gettext("This link has already been used. It works only once."))
    change.refresh_from_db()
    here = set(change.old.subscriptions.values_list("subscribable_id", flat=True))
    for what, pk, *more in change.carried.get("rows", ()):
        row = Subscription.objects.filter(pk=pk).select_related("subscribable", "destination").first()
        if row is None:
            continue
        if what == "moved" and row.destination_id == change.new_id:
            if row.subscribable_id in here:
                # The old address subscribed again meanwhile.
                _end(row, now)
            else:
                _readdress(pk, change.old, now)
            continue
        has_rested = what in ("joined", "taken") and row.left_at == change.confirmed_at
        if has_rested and (not more or _give_back(int(more[0]), str(more[1]), pk, now)):
            Subscription.objects.filter(pk=pk).update(status=CONFIRMED, left_at=None)
            emit(Event(EventKind.CONFIRMED, (pk,), now, ADDRESS_CHANGED))
    tags = change.carried.get("tags", {})
    if change.new.taggings.filter(tag__in=tags.get("given", ())).delete()[0]:
        tell_changed(Subscription.objects.filter(destination=change.new_id))
    lost = SubscriberTag.objects.filter(pk__in=tags.get("had", ())).exclude(taggings__destination=change.old)
    back = [(change.old_id, tag) for tag in lost.values_list("pk", flat=True)]
    give(back)
    if back:
        tell_changed(Subscription.objects.filter(destination=change.old_id))
    SignIn.objects.filter(destination=change.old, used_at=None).delete()
    return change


def _give_back(key: int, status: str, old: int, now: datetime) -> bool:
    """Return False if the reader left it meanwhile. `old`: key of the old address's subscription."""
    taken = Subscription.objects.filter(pk=key, status=CONFIRMED).first()
    if taken is not None:
        FrequencyChange.objects.filter(new=taken, old__subscribable=F("new__subscribable")).delete()
        _end(taken, now)
        Subscription.objects.filter(pk=taken.pk).update(status=status)
        carry_series({taken.pk: old})
    return taken is not None


def forget_address_changes(*, now: datetime) -> int:
    """Delete old changes and never confirmed addresses."""
    over = AddressChange.objects.filter(asked_at__lt=now - KEPT_FOR)
    addresses = set(over.filter(confirmed_at=None).values_list("new_id", flat=True))
    count = over.delete()[0]
    with transaction.atomic():
        drop_unused(addresses)
    return count
