"""The stage that looks at uploaded lists and imports them.

A batch of lines and the position after it are stored in one transaction: when a worker dies, the next one
goes on from there.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from common.clock import utcnow
from common.db.bulk import insert_rows
from common.db.filled_tables import tend
from common.db.leases import handed_on, held, held_by, lease, unleased
from common.passes import TimeBudget
from common.text import one_line, shortened
from subscriptions.lists.csv_lines import read_head, records
from subscriptions.lists.importer import SeenAddresses, import_batch, try_batch
from subscriptions.lists.plan import ImportPlan
from subscriptions.lists.reading import Batch, Terms, batches, heading_of, kind_of_list
from subscriptions.lists.uploads import FROM_THE_START, OPEN, State, StoredLines, end_import, terms_of
from subscriptions.models import Destination, ListImport, RefusedLine, Subscription

LEASE = timedelta(seconds=60)
SAMPLE_ROWS = 10

logger = logging.getLogger(__name__)


def work_off_imports(*, budget: timedelta) -> None:
    """Looks at lists and imports them, until none waits or the time is over."""
    left = TimeBudget(budget)
    while row := claim_import(now=utcnow()):
        try:
            _work(row, left)
        except Exception as error:
            # It is tried again when its lease is over, from where it stands.
            logger.exception("import %s failed", row.pk)
            said = shortened(one_line(f"{type(error).__name__}: {error}"), 500)
            ListImport.objects.filter(pk=row.pk, lease_token=row.lease_token).update(trouble=said)
        if left.is_spent:
            break


def claimable_imports(now: datetime) -> "QuerySet[ListImport]":
    return ListImport.objects.filter(unleased(now), state__in=OPEN)


@transaction.atomic
def claim_import(*, now: datetime) -> ListImport | None:
    """The oldest list that waits for a worker, leased.

    A list that is only looked at is begun anew: which addresses the worker before had seen is lost.
    """
    rows = claimable_imports(now).order_by("pk")
    row = rows.select_for_update(of=("self",), skip_locked=True, no_key=True).first()
    if row is None:
        return None
    taken = lease(now, LEASE)
    row.lease_token, row.lease_until = taken.token, taken.until
    if row.state == State.CHECKING:
        RefusedLine.objects.filter(list_import=row).delete()
        for field, value in FROM_THE_START.items():
            setattr(row, field, value)
    if not row.position:
        row.reading_since = now
    row.save()
    return row


def _work(row: ListImport, left: TimeBudget) -> None:
    lines = StoredLines(row.pk)
    try:
        head = read_head(lines)
        terms = terms_of(row)
        columns = heading_of(head, terms)
        kind = kind_of_list(row.subscribable)
    except ValidationError as error:
        row.trouble = " ".join(error.messages)
        _finish(row, State.UNUSABLE)
        return
    if columns.questions:
        row.names, row.program = list(head.names), columns.program.name
        _finish(row, State.ASKING)
        return
    first, now = row.line or head.next_line, utcnow()
    if row.position or head.is_missing:
        lines = StoredLines(row.pk, row.position)
    read = batches(records(lines, head, line=first), columns=columns, kind=kind, terms=terms, now=now)
    if row.state == State.CHECKING:
        row.names, row.program = list(head.names), columns.program.name
        _check(row, read, _Place(lines, first))
    else:
        _import(row, read, _Place(lines, first), terms, left)


class _Place:
    """How far the file has been read."""

    def __init__(self, lines: StoredLines, first: int) -> None:
        self._lines, self._first = lines, first
        self._before = lines.handed_out

    def tell(self, row: ListImport) -> None:
        row.position = self._lines.position
        row.line = self._first + self._lines.handed_out - self._before


def _check(row: ListImport, read: Iterator[Batch], place: _Place) -> None:
    """Looks at the whole list in one go: only this worker knows which addresses the file had before."""
    with closing(SeenAddresses()) as seen:
        for batch in read:
            repeated = seen.drop_repeated(batch)
            with held(row) as is_ours:
                if not is_ours:
                    return
                done = try_batch(row.subscribable, batch)
                if not row.lines:
                    # The first few: address, name, status, what would happen.
                    row.sample = [
                        [one.wanted.parsed.label, one.then.name, one.wanted.row.status, one.change.value]
                        for one in list(done.planned.values())[:SAMPLE_ROWS]
                    ]
                row.repeated += repeated
                row.lines += repeated
                _record(row, batch, done, place)
    _finish(row, State.CHECKED)


def _import(row: ListImport, read: Iterator[Batch], place: _Place, terms: Terms, left: TimeBudget) -> None:
    for batch in read:
        with held(row) as is_ours:
            if not is_ours:
                return
            done = import_batch(row.subscribable, batch, terms=terms, now=utcnow())
            _record(row, batch, done, place)
        if left.is_spent:
            held_by(row).update(**handed_on(utcnow()))
            return
    _finish(row, State.DONE)
    tend(Destination, Subscription, rows=row.added + row.updated)


def _record(row: ListImport, batch: Batch, done: ImportPlan, place: _Place) -> None:
    refused = sorted([*batch.refused, *done.refused], key=lambda each: each.line)
    if refused:
        # PostgreSQL stores no NUL.
        columns: dict[str, Sequence[Any]] = {
            "list_import": [row.pk] * len(refused),
            "line": [each.line for each in refused],
            "reason": [each.reason.replace("\0", "") for each in refused],
            "cells": [[cell.replace("\0", "") for cell in each.cells] for each in refused],
        }
        insert_rows(RefusedLine, columns)
    place.tell(row)
    row.lines += len(batch)
    row.added += done.added
    row.updated += done.updated
    row.unchanged += done.unchanged
    row.refused += len(refused)
    row.lease_until = utcnow() + LEASE
    row.trouble = ""
    row.save()


def _finish(row: ListImport, state: State) -> None:
    with held(row) as is_ours:
        if is_ours:
            end_import(row, state, utcnow())
