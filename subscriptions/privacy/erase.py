import secrets
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from common import signing
from common.db.bulk import find_rows
from common.ports.events import Event, EventKind, emit
from common.ports.personal_data import sources
from common.refused import Refused
from common.secrets import opened
from subscriptions.models import Destination, ErasedMark, ErasureKey, SignUpCode, Subscription, Suppression

ERASED = "Erased at this person’s request."
# Says only what is needed to keep the suppression.
KEPT_AFTER_ERASURE = "Kept when this person’s data was erased, so that nothing is sent here again."
SWEPT_AT_ONCE = 100
MARK = "erased"


def count_held(destination: Destination) -> dict[str, int]:
    return {holding.key: holding.count(destination) for holding in sources}


@transaction.atomic
def erase(*, destination: Destination, now: datetime) -> dict[str, int]:
    """Erase an address in one transaction; return numbers of rows by kind. Idempotent.

    The Destination stays without address, so that no issue is sent twice and counts are right. A suppression
    stays, to be obeyed. If there were subscriptions, a digest stays (ErasedMark), so that no import brings
    the address back.
    """
    # Unconfirmed new addresses are known only by this reader's request.
    asked_for = Destination.objects.filter(
        changes_here__old=destination, changes_here__confirmed_at=None, subscriptions=None, erased_at=None
    )
    return _erase([destination, *asked_for.filter(disabled_at=None).distinct()], now)


def sweep_erased(*, now: datetime) -> int:
    """Erase data received later, such as bounces."""
    since = now - timedelta(days=settings.KEEP_DAYS)
    erased, after, total = Destination.objects.filter(erased_at__gte=since).order_by("pk"), 0, 0
    while batch := list(erased.filter(pk__gt=after)[:SWEPT_AT_ONCE]):
        after = batch[-1].pk
        with transaction.atomic():
            total += sum(_erase(batch, now).values())
    return total


def _erase(destinations: Sequence[Destination], now: datetime) -> dict[str, int]:
    # Referring rows first. Deliveries are locked before addresses, as everywhere.
    return {holding.key: holding.erase(destinations, now) for holding in reversed(sources)}


def erase_subscriptions(destinations: Sequence[Destination], now: datetime) -> int:
    """Delete subscriptions, consents and notices, and anonymize the addresses.

    Locks addresses, then subscriptions, before it changes any address: no sign-up waits for us with a lock
    that we need.
    """
    pks = sorted(one.pk for one in destinations)
    addresses = Destination.objects.select_for_update(no_key=True).filter(pk__in=pks).order_by("pk")
    here = {
        pk: (kind, core)
        for pk, kind, core, erased_at in addresses.values_list("pk", "kind", "core", "erased_at")
        if not erased_at
    }
    rows = Subscription.objects.filter(destination__in=pks).order_by("pk")
    held = list(rows.select_for_update(no_key=True).values_list("pk", "status", "destination"))
    mark_erased(here[each] for each in sorted({destination for *_, destination in held} & here.keys()))
    confirmed = [pk for pk, status, _ in held if status == Subscription.Status.CONFIRMED]
    left = Subscription.Status.UNSUBSCRIBED
    Subscription.objects.filter(pk__in=confirmed).exclude(status=left).update(status=left, left_at=now)
    # Emitted while the rows exist.
    emit(Event(EventKind.LEFT, tuple(confirmed), now, {"how": "erased"}))
    SignUpCode.objects.filter(destination__in=pks).delete()
    _forget_in_admin_log(Subscription, [pk for pk, *_ in held])
    _forget_in_admin_log(Destination, pks)
    for pk in pks:
        Destination.objects.filter(pk=pk, erased_at=None).update(
            # Without @ nobody can type it.
            core=f"erased-{pk}",
            label=f"erased {pk}",
            config={},
            secrets={},
            disabled_at=now,
            disabled_reason=ERASED,
            erased_at=now,
        )
    Subscription.objects.filter(pk__in=[pk for pk, *_ in held]).delete()
    return len(held)


def mark_erased(addresses: Iterable[tuple[str, str]]) -> None:
    """Store keyed digests of (kind, core)."""
    if texts := [f"{kind} {core}" for kind, core in addresses]:
        keep_erasure_keys(adds=True)
        digests = (signing.stamps(MARK, text, erasure_keys()[-1:])[0] for text in texts)
        ErasedMark.objects.bulk_create(
            [ErasedMark(digest=digest) for digest in digests], ignore_conflicts=True
        )


def keep_erasure_keys(*, adds: bool = False) -> None:
    """Keep the keys of marks, before SECRET_KEY changes or another site takes over. `adds`: make one.

    Release 0.1.0 makes marks with SECRET_KEY.
    """
    has_marks = ErasedMark.objects.exists()
    if (adds or has_marks) and not ErasureKey.objects.exists():
        older = signing.secret_keys() if has_marks else []
        for key in (*older, secrets.token_hex(32)):
            values: Any = {"key": key}
            ErasureKey.objects.create(secrets=values)


def erasure_keys() -> list[str]:
    """Return them, oldest first. Raises Refused."""
    try:
        return [opened(row.secrets)["key"] for row in ErasureKey.objects.order_by("pk")]
    except ValueError as error:
        raise Refused(str(error)) from error


def erased_among(kind: str, cores: Collection[str]) -> set[str]:
    if not ErasedMark.objects.exists():
        return set()
    keys = [*erasure_keys(), *signing.secret_keys()]
    by_digest = {digest: core for core in cores for digest in signing.stamps(MARK, f"{kind} {core}", keys)}
    return {by_digest[row[0]] for row in find_rows(ErasedMark, ["id"], key="digest", values=by_digest)}


def erase_suppressions(destinations: Sequence[Destination], now: datetime) -> int:
    """Keep only address and suppression, and for erased ones nothing."""
    count = 0
    for one in destinations:
        rows = Suppression.objects.filter(kind=one.kind, core=one.core)
        if one.erased_at is not None:
            count += rows.delete()[0]
        else:
            rows.exclude(reason=KEPT_AFTER_ERASURE).update(reason=KEPT_AFTER_ERASURE)
    return count


def _forget_in_admin_log(model: type[Subscription | Destination], pks: Sequence[int]) -> None:
    """The admin's history contains row names."""
    about = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(model), object_id__in=[str(pk) for pk in pks]
    )
    about.update(object_repr=ERASED, change_message="")
