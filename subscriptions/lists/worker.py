"""Worker for uploaded lists.

Stores a batch and the position after it in one transaction, so another worker can continue.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError

from common.clock import utcnow
from common.db.bulk import insert_rows, vacuum_analyze
from common.db.leases import held
from common.passes import TimeBudget
from common.text import shortened
from common.uploads import process_uploads
from subscriptions.lists.importer import SeenAddresses, import_batch, try_batch
from subscriptions.lists.reading import (
    Batch,
    Head,
    Record,
    RefusedRow,
    Terms,
    Wanted,
    batches,
    column_of_addresses,
    heading_of,
    kind_of_list,
    read_head,
    records,
    survey_of,
)
from subscriptions.lists.store import ImportPlan
from subscriptions.lists.undo import forget_import_changes
from subscriptions.lists.uploads import FROM_THE_START, State, StoredLines, survey_kept, terms_of
from subscriptions.models import Destination, ListImport, RefusedLine, Subscription
from subscriptions.rules.lists.encodings import likely_encodings
from subscriptions.rules.lists.headings import HEADER

SAMPLES_OF_AN_OUTCOME, LONGEST_SAMPLE = 3, 120
LINES_A_RENEWAL = 20_000


def work_off_imports(*, budget: timedelta) -> None:
    process_uploads(ListImport, _work, budget=budget)
    forget_import_changes(utcnow())


def _work(row: ListImport, left: TimeBudget) -> None:
    if not _begin(row):
        return
    try:
        head = read_head(StoredLines(row))
        terms = terms_of(row)
        kind = kind_of_list(row.subscribable)
        # The previous release judged lists less strictly.
        if survey_kept(row) is None and not _judge(row, head, terms):
            return
        columns = heading_of(head, terms, survey_kept(row))
    except ValidationError as error:
        row.trouble = " ".join(error.messages)
        row.finish(State.UNUSABLE)
        return
    row.names, row.program = list(head.names), columns.program.name
    if columns.questions:
        row.finish(State.ASKING)
        return
    lines, now = _lines(row, head, row.position), utcnow()
    lines.next_line = row.line or head.next_line
    read = records(lines, head, line=lines.next_line)
    batched = batches(read, columns=columns, kind=kind, terms=terms, now=now)
    if row.state == State.CHECKING:
        row.findings = {**(row.findings or {}), "outcomes": {}}
        _check(row, batched, lines)
    else:
        _import(row, batched, lines, terms, left)


def _begin(row: ListImport) -> bool:
    """Start a check anew, as the addresses seen by an earlier worker are lost; False if the lease is."""
    with held(row) as is_ours:
        if is_ours:
            if row.state == State.CHECKING:
                row.refused_lines.all().delete()
                for field, value in FROM_THE_START.items():
                    setattr(row, field, value)
                row.findings = None
            if not row.position:
                row.reading_since = utcnow()
            row.save()
    return is_ours


def _lines(row: ListImport, head: Head, position: int = 0) -> StoredLines:
    lines = StoredLines(row, position)
    if not position and not head.is_missing:
        read_head(lines)
    return lines


def _judge(row: ListImport, head: Head, terms: Terms) -> bool:
    """Return whether the import can go on. Raises ValidationError without addresses."""
    lines = _lines(row, head)
    try:
        columns = survey_of(head, terms, _renewing(row, records(lines, head)))
    except ValidationError as error:
        name = column_of_addresses(head, records(_lines(row, head), head))
        if not name or HEADER not in error.messages:
            raise
        row.names, row.findings = list(head.names), {"addresses": name}
        row.finish(State.ASKING)
        return False
    except _LostError:
        return False
    if lines.foreign_count and not row.encoding:
        row.findings = {"foreign": lines.foreign_count, "encodings": likely_encodings(lines.foreign)}
        row.finish(State.ASKING)
        return False
    row.findings = {"columns": {place: column.as_json() for place, column in columns.items()}}
    return True


class _LostError(Exception):
    """Another worker has the import, or somebody stopped it."""


def _renewing(row: ListImport, read: Iterator[Record]) -> Iterator[Record]:
    """Renew the lease, as nothing is stored meanwhile."""
    for number, record in enumerate(read, 1):
        if not number % LINES_A_RENEWAL and not row.renew():
            raise _LostError
        yield record


def _check(row: ListImport, read: Iterator[Batch], lines: StoredLines) -> None:
    """Check in one go: only this worker knows the addresses seen."""
    with closing(SeenAddresses()) as seen:
        for batch in read:
            repeated = seen.drop_repeated(batch)
            with held(row) as is_ours:
                if not is_ours:
                    return
                done = try_batch(row.subscribable, batch)
                if not row.lines:
                    row.sample = []
                row.repeated += len(repeated)
                row.lines += len(repeated)
                refused = _refused(batch, done)
                _add_samples(row, done, repeated, refused)
                findings = row.findings or {}
                outcomes = Counter(findings["outcomes"])
                outcomes.update(seen.count(done, repeated))
                outcomes.update(each.kind for each in refused)
                lost = sum(wanted.row.has_lost_a_date for wanted in (*batch.wanted, *repeated))
                row.findings = {
                    **findings,
                    "outcomes": outcomes,
                    "ending": findings.get("ending", 0) + done.ending,
                    "lost_dates": findings.get("lost_dates", 0) + lost,
                }
                _record(row, batch, done, refused, lines)
    row.finish(State.CHECKED)


def _add_samples(
    row: ListImport, done: ImportPlan, repeated: Sequence[Wanted], refused: Sequence[RefusedRow]
) -> None:
    """Keep the first lines of each outcome: label, name, outcome, and the change or the refusal."""
    kept = Counter(kind for _, _, kind, _ in row.sample)

    def add(label: str, name: str, kind: str, what: str) -> None:
        if kept[kind] < SAMPLES_OF_AN_OUTCOME:
            row.sample.append([label, name, kind, what])
            kept[kind] += 1

    for one in done.planned.values():
        add(one.wanted.parsed.label, one.then.name, one.then.outcome, one.change.value)
    for each in repeated:
        add(each.parsed.label, each.row.name, "repeated", "")
    for line in refused:
        add(shortened(", ".join(filter(None, line.cells)), LONGEST_SAMPLE), "", line.kind, line.reason)


def _import(
    row: ListImport, read: Iterator[Batch], lines: StoredLines, terms: Terms, left: TimeBudget
) -> None:
    for batch in read:
        with held(row) as is_ours:
            if not is_ours:
                return
            done = import_batch(row.subscribable, batch, terms=terms, now=utcnow(), into=row)
            _record(row, batch, done, _refused(batch, done), lines)
        if left.is_spent:
            row.release()
            return
    row.finish(State.DONE)
    vacuum_analyze(Destination, Subscription, rows=row.added + row.updated)


def _refused(batch: Batch, done: ImportPlan) -> list[RefusedRow]:
    """Return refused lines in order, without NUL, which PostgreSQL does not store."""
    return [
        replace(
            each,
            reason=each.reason.replace("\0", ""),
            cells=tuple(cell.replace("\0", "") for cell in each.cells),
        )
        for each in sorted([*batch.refused, *done.refused], key=lambda each: each.line)
    ]


def _record(
    row: ListImport, batch: Batch, done: ImportPlan, refused: Sequence[RefusedRow], lines: StoredLines
) -> None:
    if refused:
        columns: dict[str, Sequence[Any]] = {
            "list_import": [row.pk] * len(refused),
            "line": [each.line for each in refused],
            "reason": [each.reason for each in refused],
            "cells": [list(each.cells) for each in refused],
        }
        insert_rows(RefusedLine, columns)
    row.position, row.line = lines.position, lines.next_line
    row.lines += len(batch)
    row.added += done.added
    row.updated += done.updated
    row.unchanged += done.unchanged
    row.refused += len(refused)
    row.note_progress()
