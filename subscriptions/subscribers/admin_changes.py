"""Subscribers added, changed or removed by admins and programs. Idempotent."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any

from django.db import transaction
from django.db.models import Q

from common.db.bulk import save_new
from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from common.ports.events import Event, EventKind, emit
from subscriptions.models import Consent, Destination, Subscribable, Subscription, Suppression
from subscriptions.models.subscription import random_token
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import noted, tidy_name
from subscriptions.rules.switches import pause_end
from subscriptions.subscribers.consent import consent, record_consents
from subscriptions.subscribers.leave import lineage_of, predecessors
from subscriptions.subscribers.notices import ask_to_confirm, renew_nonce, tell_changed
from subscriptions.subscribers.sign_up import SignUpRequest, answer_all, mark_confirmed
from subscriptions.subscribers.tags import replace_tags

BY_ADMIN = Origin(How.ADMIN, words="An admin added this address, and says that its owner agreed.")


def subscribe(
    *,
    subscribable: Subscribable,
    data: Mapping[str, str],
    now: datetime,
    confirmed: bool = True,
    language: str = "",
) -> Subscription:
    """Check new credentials with the service before any write. Raises InvalidDestination.

    `data`: destination fields. Unconfirmed subscribers get a confirmation mail.
    """
    kind = channels.get(subscribable.channel)
    parsed = kind.check(kind.parse_destination(data))
    return subscribe_checked(
        subscribable=subscribable, parsed=parsed, now=now, confirmed=confirmed, language=language
    )


@transaction.atomic
def subscribe_checked(
    *,
    subscribable: Subscribable,
    parsed: ParsedDestination,
    now: datetime,
    confirmed: bool = True,
    language: str = "",
) -> Subscription:
    """Subscribe without asking the service. Raises InvalidDestination."""
    _refuse_suppressed(subscribable.channel, parsed.core, parsed.label)
    subscription = _locked_row(subscribable, parsed, now=now, language=language)
    if subscription.status == Subscription.Status.CONFIRMED:
        subscription.save()
    elif confirmed:
        mark_confirmed(subscription, now=now)
        record_consents([consent(subscription, Consent.Act.ADDED, BY_ADMIN, at=now)])
    elif now.timestamp() not in (subscription.notices_at or ()):
        _ask([subscription], BY_ADMIN, now=now, language=language)
    return subscription


@transaction.atomic
def subscribe_new(
    wanted: Sequence[tuple[Subscribable, ParsedDestination, bool, str]], *, now: datetime
) -> list[Subscription]:
    """Subscribe addresses that are unknown here, as `subscribe_checked` does, in few statements.

    The last two: confirmed, and the language. Raises IntegrityError if an address became known meanwhile.
    """
    destinations = [
        Destination(kind=newsletter.channel, core=parsed.core, added_at=now, **_facts(parsed))
        for newsletter, parsed, _, _ in wanted
    ]
    save_new(destinations)
    rows = []
    for destination, (newsletter, parsed, confirmed, language) in zip(destinations, wanted, strict=True):
        row = Subscription(subscribable=newsletter, destination=destination, added_at=now, language=language)
        row.display_name = tidy_name(parsed.display_name)
        if confirmed:
            row.status, row.confirmed_at = Subscription.Status.CONFIRMED, now
        rows.append(row)
    added = [row for row in rows if row.confirmed_at]
    save_new(added)
    record_consents([consent(row, Consent.Act.ADDED, BY_ADMIN, at=now) for row in added])
    emit(Event(EventKind.CONFIRMED, tuple(row.pk for row in added), now))
    _ask([row for row in rows if not row.confirmed_at], BY_ADMIN, now=now)
    return rows


@transaction.atomic
def ask_unconfirmed(*, subscription_id: int, origin: Origin, now: datetime) -> bool:
    """Send a confirmation to somebody who waits for one and was never asked here. Return whether it was."""
    rows = Subscription.objects.select_for_update(no_key=True, of=("self",))
    unasked = rows.filter(pk=subscription_id, status=Subscription.Status.UNCONFIRMED, confirm_nonce="")
    row = unasked.filter(destination__disabled_at=None).select_related("destination", "subscribable").first()
    if row is None or row.destination.suppression:
        return False
    _ask([row], origin, now=now)
    return True


def _ask(rows: Sequence[Subscription], origin: Origin, *, now: datetime, language: str | None = None) -> None:
    begun = [row for row in rows if row.added_at == now or row.status != Subscription.Status.UNCONFIRMED]
    for row in rows:
        row.status = Subscription.Status.UNCONFIRMED
        row.notices_at = noted(row.notices_at, now)
        renew_nonce(row)
        if row.pk:
            row.save()
    save_new([row for row in rows if not row.pk])
    record_consents([consent(row, Consent.Act.ASKED, origin, at=now) for row in rows])
    emit(Event(EventKind.CREATED, tuple(row.pk for row in begun), now))
    for row in rows:
        ask_to_confirm([row], now=now, language=row.language if language is None else language)


@transaction.atomic
def confirm_by_hand(*, subscription: Subscription, now: datetime) -> Subscription:
    """Confirm on an admin's word. Raises InvalidDestination."""
    rows = Subscription.objects.select_for_update(no_key=True, of=("self",))
    locked = rows.select_related("destination", "subscribable").get(pk=subscription.pk)
    label = locked.destination.label
    if locked.status == Subscription.Status.CONFIRMED:
        return locked
    if locked.status != Subscription.Status.UNCONFIRMED:
        raise InvalidDestination(f"{label} has left {locked.subscribable}. “subscribe” adds it again.")
    _refuse_suppressed(locked.destination.kind, locked.destination.core, label)
    locked.display_name = locked.asked_name or locked.display_name
    mark_confirmed(locked, now=now)
    record_consents([consent(locked, Consent.Act.ADDED, BY_ADMIN, at=now)])
    return locked


def _refuse_suppressed(kind: str, core: str, label: str) -> None:
    suppressed = Suppression.objects.filter(kind=kind, core=core).first()
    if suppressed is not None:
        reason = f" ({suppressed.reason})" if suppressed.reason else ""
        raise InvalidDestination(
            f"{label} must not be written to{reason}. Take it off the list “Do not email” first."
        )


def _facts(parsed: ParsedDestination) -> dict[str, Any]:
    return {"label": parsed.label, "config": parsed.config, "secrets": parsed.secrets}


def _locked_row(
    subscribable: Subscribable, parsed: ParsedDestination, *, now: datetime, language: str
) -> Subscription:
    """Return a locked, unsaved row. Given credentials replace stored ones: a token may have expired."""
    facts = _facts(parsed)
    destination, created = Destination.objects.get_or_create(
        kind=subscribable.channel, core=parsed.core, defaults={**facts, "added_at": now}
    )
    if not created and (parsed.secrets or parsed.config):
        for field, value in facts.items():
            setattr(destination, field, value)
        destination.disabled_at, destination.disabled_reason = None, ""
        destination.save()
    subscription, _ = Subscription.objects.select_for_update(no_key=True).get_or_create(
        subscribable=subscribable, destination=destination, defaults={"added_at": now}
    )
    subscription.display_name = tidy_name(parsed.display_name) or subscription.display_name
    subscription.language = language or subscription.language
    return subscription


def add_subscriber(
    *, subscribable: Subscribable, data: Mapping[str, str], confirmed: bool, language: str, now: datetime
) -> tuple[Subscription, bool]:
    """Return whether it is new. Raises InvalidDestination."""
    parsed = channels.get(subscribable.channel).parse_destination(data)
    rows = Subscription.objects.select_related("destination", "subscribable")
    there = rows.filter(subscribable=subscribable, destination__core=parsed.core).first()
    if there is not None and not parsed.secrets:
        is_confirmed = there.status == Subscription.Status.CONFIRMED and there.ended_at is None
        if is_confirmed or (there.status == Subscription.Status.UNCONFIRMED and not confirmed):
            return there, False
    made = subscribe(subscribable=subscribable, data=data, now=now, confirmed=confirmed, language=language)
    return made, made.added_at == now


def ask_again(*, keys: Iterable[int], now: datetime) -> tuple[int, int]:
    """Ask people to confirm, by one email each. Return how many were asked, and how many were not.

    Nobody is asked who must not be emailed, or was within five minutes or five times in a day.
    """
    unconfirmed = Subscription.objects.filter(pk__in=list(keys), status=Subscription.Status.UNCONFIRMED)
    rows = unconfirmed.select_related("destination", "subscribable").order_by("destination", "pk")
    people = [list(each) for _, each in groupby(rows, key=lambda row: row.destination_id)]
    asked = 0
    for theirs in people:
        to = theirs[0].destination
        request = SignUpRequest(
            subscribables=[row.subscribable for row in theirs],
            parsed=ParsedDestination(core=to.core, label=to.label),
            name=theirs[0].asked_name or theirs[0].display_name,
            origin=Origin(How.ADMIN, words="An admin asked for a confirmation."),
            language=theirs[0].language,
            now=now,
        )
        with transaction.atomic():
            asked += answer_all(request)
    return asked, len(people) - asked


@transaction.atomic
def save_details(
    *,
    subscription: Subscription,
    name: str | None = None,
    language: str | None = None,
    tags: Iterable[str] | None = None,
) -> None:
    """Also changes a pending switch's newsletter. Language "" is the newsletter's. Raises BadTag."""
    changes: dict[str, Any] = {}
    if name is not None:
        changes["display_name"] = tidy_name(name)
    if language is not None:
        changes["language"] = language
    changed = Q(pk__in=_change(subscription, **changes))
    if tags is not None and replace_tags(destination=subscription.destination, names=tags):
        changed |= Q(destination=subscription.destination_id)
    tell_changed(Subscription.objects.filter(changed))
    subscription.refresh_from_db(fields=list(changes))


@transaction.atomic
def revoke_links(*, subscription: Subscription) -> None:
    """Invalidate the links in all letters so far, including one-click ones."""
    keys = {subscription.pk} | predecessors(subscription)
    for row in Subscription.objects.filter(pk__in=keys).order_by("pk"):
        row.token = random_token()
        row.save(update_fields=["token"])
    subscription.refresh_from_db(fields=["token"])


def pause(*, subscription: Subscription, until: date, now: datetime) -> None:
    """Raises BadDate."""
    end = pause_end(until, now=now, zone=subscription.subscribable.zone)
    _set_pause(subscription, end)


def resume(*, subscription: Subscription) -> None:
    _set_pause(subscription, None)


def is_paused(subscription: Subscription, now: datetime) -> bool:
    return subscription.paused_until is not None and subscription.paused_until > now


@transaction.atomic
def _set_pause(subscription: Subscription, until: datetime | None) -> None:
    tell_changed(Subscription.objects.filter(pk__in=_change(subscription, paused_until=until)))
    subscription.paused_until = until


def _change(subscription: Subscription, **changes: Any) -> list[int]:
    """Return keys of changed rows in its lineage."""
    rows = Subscription.objects.filter(pk__in=lineage_of(subscription))
    different = list(rows.exclude(**changes).order_by("pk").values_list("pk", flat=True)) if changes else []
    rows.filter(pk__in=different).update(**changes)
    return different
