from collections.abc import Iterable
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import one_line, shortened
from subscriptions.lists.csv_lines import named_records
from subscriptions.lists.reading import LINES_A_BATCH, ImportReport, RefusedRow
from subscriptions.models import Suppression
from subscriptions.subscribers.suppression import MAX_REASON

USUAL_REASON = "imported"


def import_suppressions(*, lines: Iterable[str], now: datetime) -> ImportReport:
    """Import a CSV list (email and optionally reason). Raises ValidationError."""
    report = ImportReport()
    batch: dict[str, str] = {}
    for line, values in named_records(lines):
        try:
            if isinstance(values, str):
                raise ValidationError(values)
            core = channels.get("email").parse_destination({"email": values["email"]}).core
        except (ValidationError, InvalidDestination) as error:
            message = error.messages[0] if isinstance(error, ValidationError) else str(error)
            report.refuse([RefusedRow(line, message)])
            continue
        report.unchanged += core in batch
        batch.setdefault(core, shortened(one_line(values.get("reason", "")), MAX_REASON) or USUAL_REASON)
        if len(batch) >= LINES_A_BATCH:
            _store(batch, report, now)
            batch = {}
    _store(batch, report, now)
    return report


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
