"""Whom nothing may be sent: putting addresses on that list, and taking them off again."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from common import kinds
from common.kinds import InvalidDestination
from common.text import one_line, shortened
from subscriptions.models import Destination, Suppression
from subscriptions.services.csv_lines import named_records
from subscriptions.services.list_report import BATCH, ImportReport, Refused

MAX_REASON = 1000
IMPORTED = "imported"


def suppress(*, kind: str, core: str, reason: str, now: datetime) -> bool:
    """Nothing is sent there any more. False when it was so already: the first reason stays."""
    shown = shortened(one_line(reason), MAX_REASON)
    _, created = Suppression.objects.get_or_create(
        kind=kind, core=core, defaults={"reason": shown, "created_at": now}
    )
    return created


@transaction.atomic
def lift(*, suppressions: Iterable[Suppression]) -> int:
    """These may be written to again, also where an address was switched off by itself. Returns how many."""
    rows = list(suppressions)
    for row in rows:
        known = Destination.objects.filter(kind=row.kind, core=row.core, disabled_at__isnull=False)
        known.update(disabled_at=None, disabled_reason="")
    Suppression.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def import_suppressions(*, lines: Iterable[str], now: datetime) -> ImportReport:
    """Takes over a CSV list of addresses (columns email and, if you like, reason), 500 to a transaction.

    Raises ValidationError when it is no such list.
    """
    report = ImportReport()
    batch: dict[str, str] = {}
    for core, reason in _wanted(lines, report):
        report.unchanged += core in batch
        batch.setdefault(core, reason)
        if len(batch) >= BATCH:
            _store(batch, report, now)
            batch = {}
    _store(batch, report, now)
    return report


def _wanted(lines: Iterable[str], report: ImportReport) -> Iterator[tuple[str, str]]:
    for line, values in named_records(lines):
        try:
            if isinstance(values, str):
                raise ValidationError(values)
            core = kinds.get("email").parse_destination({"email": values["email"]}).core
            yield core, shortened(one_line(values.get("reason", "")), MAX_REASON) or IMPORTED
        except (ValidationError, InvalidDestination) as error:
            said = error.messages[0] if isinstance(error, ValidationError) else str(error)
            report.refuse([Refused(line, said)])


@transaction.atomic
def _store(batch: dict[str, str], report: ImportReport, now: datetime) -> None:
    there = set(Suppression.objects.filter(kind="email", core__in=batch).values_list("core", flat=True))
    fresh = [
        Suppression(kind="email", core=core, reason=reason, created_at=now)
        for core, reason in batch.items()
        if core not in there
    ]
    Suppression.objects.bulk_create(fresh, ignore_conflicts=True)
    report.added += len(fresh)
    report.unchanged += len(there)
