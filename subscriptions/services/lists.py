"""Taking over and handing out lists of subscribers. Mails no one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef

from common import kinds
from common.kinds import InvalidDestination, Kind, ParsedDestination
from subscriptions.models import Destination, Subscribable, Subscription, Suppression
from subscriptions.rules.list_rows import COLUMNS, Change, Known, ListRow, RefusedLine, change, read_row
from subscriptions.rules.sign_up import tidy_name
from subscriptions.services.csv_lines import records

BATCH = 500
CONFIRMED, UNCONFIRMED, UNSUBSCRIBED = "confirmed", "unconfirmed", "unsubscribed"
IMPORTED = "imported as suppressed"


@dataclass
class ImportReport:
    """How many of each; `refused` holds each line's number in the file and the reason."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line that can be read, and the destination it means."""

    line: int
    row: ListRow
    parsed: ParsedDestination


def import_subscribers(*, subscribable: Subscribable, lines: Iterable[str], now: datetime) -> ImportReport:
    """Takes over a CSV list, 500 lines to a transaction. Raises ValidationError when it is no such list."""
    kind = kinds.get(subscribable.channel)
    _needs_addresses(subscribable, kind)
    report = ImportReport()
    batch: dict[str, Wanted] = {}
    for wanted in _wanted(lines, kind, report, now):
        # The same address again comes after the first one is stored.
        if len(batch) >= BATCH or wanted.parsed.core in batch:
            _import(subscribable, batch, report, now)
            batch = {}
        batch[wanted.parsed.core] = wanted
    _import(subscribable, batch, report, now)
    report.refused.sort()
    return report


def export_subscribers(*, subscribable: Subscribable) -> Iterator[list[str]]:
    """The header, then a row for each subscriber whatever their status, streamed. Imports again as it was.

    Raises ValidationError for a bridge.
    """
    _needs_addresses(subscribable, kinds.get(subscribable.channel))
    return _exported(subscribable)


def _exported(subscribable: Subscribable) -> Iterator[list[str]]:
    same = Suppression.objects.filter(kind=OuterRef("destination__kind"), core=OuterRef("destination__core"))
    rows = subscribable.subscriptions.annotate(suppressed=Exists(same)).order_by("pk")
    yield list(COLUMNS)
    values = rows.values_list("destination__label", "display_name", "status", "suppressed", "added_at")
    for label, name, status, suppressed, added in values.iterator(chunk_size=2000):
        yield [label, name, "suppressed" if suppressed else status, added.isoformat()]


def _needs_addresses(subscribable: Subscribable, kind: Kind) -> None:
    if all(each.name != "email" for each in kind.destination_fields):
        raise ValidationError(
            f"{subscribable} goes to {kind.label}: lists are for newsletters by e-mail. Use “subscribe”."
        )


def _wanted(lines: Iterable[str], kind: Kind, report: ImportReport, now: datetime) -> Iterator[Wanted]:
    for line, values in records(lines):
        try:
            if isinstance(values, str):
                raise RefusedLine(values)
            row = read_row(values, now=now)
            parsed = kind.parse_destination({"email": row.email})
            name = tidy_name(row.name) or tidy_name(parsed.display_name)
            yield Wanted(line, ListRow(row.email, name, row.status, row.added), parsed)
        except (RefusedLine, InvalidDestination) as error:
            report.refused.append((line, str(error)))


@transaction.atomic
def _import(
    subscribable: Subscribable, batch: dict[str, Wanted], report: ImportReport, now: datetime
) -> None:
    suppressed = set(
        Suppression.objects.filter(kind=subscribable.channel, core__in=batch).values_list("core", flat=True)
    )
    there = _subscriptions(subscribable, batch)
    add: list[Wanted] = []
    for core, wanted in batch.items():
        old = there.get(core)
        known = (
            Known(old.status, old.display_name, core in suppressed)
            if old
            else Known("", "", core in suppressed)
        )
        try:
            done = change(wanted.row, known)
        except RefusedLine as error:
            report.refused.append((wanted.line, str(error)))
            continue
        if done is Change.ADD:
            add.append(wanted)
        elif done is Change.UPDATE and old is not None:
            _update(old, wanted.row, now)
        report.unchanged += done is Change.NOTHING
        report.updated += done is Change.UPDATE
    _suppress(subscribable.channel, batch, suppressed, now)
    report.added += _add(subscribable, add, now)


def _subscriptions(subscribable: Subscribable, cores: Iterable[str]) -> dict[str, Subscription]:
    """Those that are there, locked in pk order, by core."""
    rows = Subscription.objects.filter(subscribable=subscribable, destination__core__in=list(cores))
    locked = rows.select_related("destination").select_for_update(of=("self",), no_key=True).order_by("pk")
    return {row.destination.core: row for row in locked}


def _update(subscription: Subscription, row: ListRow, now: datetime) -> None:
    subscription.display_name = row.name or subscription.display_name
    if row.status == CONFIRMED and subscription.status == UNCONFIRMED:
        subscription.status, subscription.confirmed_at = CONFIRMED, now
        subscription.confirm_nonce = subscription.asked_name = ""
    elif row.status == UNSUBSCRIBED and subscription.status != UNSUBSCRIBED:
        subscription.status, subscription.left_at = UNSUBSCRIBED, now
        subscription.confirm_nonce = subscription.asked_name = ""
    subscription.save()


def _suppress(kind: str, batch: dict[str, Wanted], already: set[str], now: datetime) -> None:
    fresh = [
        core for core, wanted in batch.items() if wanted.row.status == "suppressed" and core not in already
    ]
    Suppression.objects.bulk_create(
        [Suppression(kind=kind, core=core, reason=IMPORTED, created_at=now) for core in fresh],
        ignore_conflicts=True,
    )


def _add(subscribable: Subscribable, add: list[Wanted], now: datetime) -> int:
    Destination.objects.bulk_create(
        [
            Destination(
                kind=subscribable.channel,
                core=wanted.parsed.core,
                label=wanted.parsed.label,
                config=wanted.parsed.config,
                added_at=wanted.row.added or now,
            )
            for wanted in add
        ],
        ignore_conflicts=True,
    )
    cores = [wanted.parsed.core for wanted in add]
    found = Destination.objects.filter(kind=subscribable.channel, core__in=cores)
    pks = dict(found.values_list("core", "pk"))
    made = [_new(subscribable, pks[wanted.parsed.core], wanted.row, now) for wanted in add]
    # A reader who signs up at this very moment is there already, and stays as they are.
    return len(Subscription.objects.bulk_create(made, ignore_conflicts=True))


def _new(subscribable: Subscribable, destination_id: int, row: ListRow, now: datetime) -> Subscription:
    # A suppressed address never asked to be subscribed here, should the suppression ever be lifted.
    status = UNCONFIRMED if row.status == "suppressed" else row.status
    added = row.added or now
    return Subscription(
        subscribable=subscribable,
        destination_id=destination_id,
        display_name=row.name,
        status=status,
        added_at=added,
        confirmed_at=added if status == CONFIRMED else None,
        left_at=now if status == UNSUBSCRIBED else None,
    )
