"""Imports lists of subscribers, or tries what an import would do. Mails no one."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from common.prefetch import prefetch
from subscriptions.lists.csv_lines import records, split_head
from subscriptions.lists.plan import ImportPlan, existing_subscribers, owners_of_upstream_ids, plan_import
from subscriptions.lists.reading import (
    Batch,
    ImportReport,
    RefusedRow,
    Terms,
    Wanted,
    batches,
    heading_of,
    kind_of_list,
)
from subscriptions.lists.store import store_batch
from subscriptions.models import Subscribable


class Unclear(ValidationError):
    """Some columns look as if they named people who must not be mailed, and nobody said what they mean."""

    def __init__(self, names: Sequence[str]) -> None:
        quoted = ", ".join(f"“{name[:40]}”" for name in names)
        super().__init__(
            f"Some columns may name people who must not be mailed: {quoted}. Say what each means, whoever has"
            " something in it: suppressed, unsubscribed or ignore."
        )
        self.names = tuple(names)


OnRefused = Callable[[ImportReport, Sequence[RefusedRow]], None] | None
USUAL_TERMS = Terms()


def import_subscribers(
    *,
    subscribable: Subscribable,
    lines: Iterable[str],
    now: datetime,
    terms: Terms = USUAL_TERMS,
    on_refused: OnRefused = None,
) -> ImportReport:
    """Takes over a CSV list, batch by batch, each in a transaction.

    Raises ValidationError when it is no such list, and Unclear.
    """
    report = ImportReport(on_refused=on_refused)
    # While the database stores one batch, the next is read.
    for batch in prefetch(_batches(report, subscribable, lines, terms, now)):
        add_up(report, batch, import_batch(subscribable, batch, terms=terms, now=now))
    return report


def try_subscribers(
    *,
    subscribable: Subscribable,
    lines: Iterable[str],
    now: datetime,
    terms: Terms = USUAL_TERMS,
    on_refused: OnRefused = None,
) -> ImportReport:
    """What `import_subscribers` would do; changes nothing."""
    report = ImportReport(on_refused=on_refused)
    with closing(SeenAddresses()) as seen:
        for batch in _batches(report, subscribable, lines, terms, now):
            report.repeated += seen.drop_repeated(batch)
            add_up(report, batch, try_batch(subscribable, batch))
    return report


def _batches(
    report: ImportReport, subscribable: Subscribable, lines: Iterable[str], terms: Terms, now: datetime
) -> Iterator[Batch]:
    kind = kind_of_list(subscribable)
    head, remaining = split_head(lines)
    columns = heading_of(head, terms)
    if columns.questions:
        raise Unclear(columns.questions)
    report.names, report.note = head.names, columns.program.note
    return batches(records(remaining, head), columns=columns, kind=kind, terms=terms, now=now)


@transaction.atomic
def import_batch(subscribable: Subscribable, batch: Batch, *, terms: Terms, now: datetime) -> ImportPlan:
    """Stores a batch. The subscriptions of its addresses are locked until that is done."""
    return store_batch(subscribable, batch.wanted, terms=terms, now=now)


def try_batch(subscribable: Subscribable, batch: Batch) -> ImportPlan:
    """What storing a batch would do now."""
    known = existing_subscribers(subscribable, batch.wanted)
    return plan_import(batch.wanted, known, owners_of_upstream_ids(batch.wanted))


def add_up(report: ImportReport, batch: Batch, done: ImportPlan) -> None:
    """Adds a batch to the report, its refused lines in the order of the file."""
    report.added += done.added
    report.updated += done.updated
    report.unchanged += done.unchanged
    report.refuse(sorted([*batch.refused, *done.refused], key=lambda each: each.line))


class SeenAddresses:
    """The addresses a file had so far. SQLite keeps them in a temporary file, so memory does not grow."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE seen (core TEXT PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def drop_repeated(self, batch: Batch) -> int:
        """Takes the lines out whose address came before. Returns how many they were."""
        cores = json.dumps([each.parsed.core for each in batch.wanted])
        rows = self._database.execute(
            "SELECT core FROM seen WHERE core IN (SELECT value FROM json_each(?))", (cores,)
        )
        known = {core for (core,) in rows}
        fresh: dict[str, Wanted] = {}
        for each in batch.wanted:
            if each.parsed.core not in known:
                fresh.setdefault(each.parsed.core, each)
        repeated = len(batch.wanted) - len(fresh)
        self._database.executemany("INSERT INTO seen VALUES (?)", ((core,) for core in fresh))
        batch.wanted = list(fresh.values())
        return repeated

    def close(self) -> None:
        self._database.close()
