"""Imports and dry runs. Mails nobody."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO

from django.core.exceptions import ValidationError
from django.db import transaction

from common.db.bulk import prefetch
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import one_line, pluralize, shortened
from subscriptions.lists.reading import (
    LINES_A_BATCH,
    Batch,
    ImportReport,
    RefusedRow,
    Terms,
    Wanted,
    batches,
    column_of_addresses,
    heading_of,
    kind_of_list,
    named_records,
    not_used,
    records,
    split_head,
    survey_of,
)
from subscriptions.lists.store import (
    ImportPlan,
    existing_subscribers,
    owners_of_upstream_ids,
    plan_import,
    store_batch,
)
from subscriptions.lists.uploads import LONGEST_LINE
from subscriptions.models import ListChange, ListImport, Subscribable, Suppression
from subscriptions.rules.lists.headings import HEADER, Heading
from subscriptions.rules.lists.judging import Judgement
from subscriptions.rules.lists.rows import KnownSubscriber, UnusableLine, after, warning
from subscriptions.rules.lists.survey import ColumnSurvey
from subscriptions.subscribers.suppression import MAX_REASON

MOST_BYTES_IN_MEMORY = 1024 * 1024
USUAL_REASON = "imported"
OnRefused = Callable[[ImportReport, Sequence[RefusedRow]], None] | None
USUAL_TERMS = Terms()


class AmbiguousColumns(ValidationError):
    """Columns that may mark people who must not be mailed. `advice`: a likely meaning, by column."""

    def __init__(self, message: str, advice: Mapping[str, str]) -> None:
        super().__init__(message)
        self.advice = {name: meaning for name, meaning in advice.items() if meaning}


def unclear_columns(columns: Heading) -> AmbiguousColumns:
    sentences = [f"“{shortened(each.name, 40)}”: {question_words(each)}" for each in columns.questions]
    if any(question.words for question in columns.questions):
        sentences.insert(0, "Say what unknown words mean, with --word WORD=STATUS.")
    if any(not question.words for question in columns.questions):
        sentences.insert(0, "Say what these columns mean; they may mark people who must not be mailed.")
    return AmbiguousColumns(
        " ".join(sentences), {question.name: question.proposal for question in columns.questions}
    )


def question_words(question: Judgement, labels: Mapping[str, str] | None = None) -> str:
    """Return a column's values, its proposal, and how many people would get the newsletter by it."""
    text = f"{values_of(question.column)}."
    if question.words:
        words = ", ".join(f"“{word}”" for word in question.words)
        return f"{text} Unknown: {words}."
    if not question.proposal:
        return text
    gets = question.column.after(question.proposal)["confirmed"]
    proposal = labels[question.proposal] if labels else question.proposal
    return f"{text} Proposal: {proposal}; {pluralize(gets, 'line')} would get the newsletter."


def values_of(column: ColumnSurvey) -> str:
    """Return the values with the number of their lines, or the kinds of values if there are many."""
    if not column.has_more:
        counts: Mapping[str, int] = column.values
        return ", ".join(f"{f'“{cell}”' if cell else 'empty'} ({count:,})" for cell, count in counts.items())
    empty, days = column.lines("nothing"), column.lines("day")
    parts = [("empty", empty), ("a date", days), ("other", column.lines() - empty - days)]
    text = ", ".join(f"{name} ({count:,})" for name, count in parts if count)
    leaving = f"; {pluralize(column.leaving, 'line')} like “{column.example}”"
    return text + leaving if column.leaving else text


def unused_words(columns: Iterable[tuple[str, int, int]]) -> list[str]:
    """Return a sentence on ignored columns, and one on addresses in them: these people aren't imported."""
    named = [(f"“{shortened(name, 40)}”", rows, addresses) for name, rows, addresses in columns if name]
    names = [name + (f" (concerns {pluralize(rows, 'line')})" if rows else "") for name, rows, _ in named]
    addresses = [f"{pluralize(count, 'address', 'addresses')} in {name}" for name, _, count in named if count]
    return [
        *([f"Not used: {', '.join(names)}."] if names else []),
        *([f"NOT IMPORTED: {', '.join(addresses)}. Give each person a line."] if addresses else []),
    ]


def lost_dates_words(lines: int) -> str:
    if not lines:
        return ""
    return f"{pluralize(lines, 'line')} had a date that can’t be read, and were imported without it."


def harm(report: ImportReport, subscribable: Subscribable, terms: Terms) -> str:
    """Return a warning if an import would harm most of a list; or ""."""
    receiving = subscribable.subscriptions.filter(status="confirmed").count()
    return warning(report.outcomes, status=terms.status, ending=report.ending, receiving=receiving)


def import_subscribers(
    *,
    subscribable: Subscribable,
    lines: Iterable[str],
    now: datetime,
    terms: Terms = USUAL_TERMS,
    on_refused: OnRefused = None,
    into: ListImport | None = None,
    is_trial: bool = False,
) -> ImportReport:
    """Judge all lines, then import in batches, one transaction each. `into` records them, to be undone.

    An iterator's lines are kept in a temporary file. Raises ValidationError and AmbiguousColumns.
    """
    report = ImportReport(on_refused=on_refused)
    with closing(SeenAddresses()) as seen, _read(report, subscribable, lines, terms, now) as read:
        # The next batch is read while the database stores one.
        for batch in read if is_trial else prefetch(read):
            repeated = seen.drop_repeated(batch) if is_trial else []
            report.repeated += len(repeated)
            done = (
                try_batch(subscribable, batch)
                if is_trial
                else import_batch(subscribable, batch, terms=terms, now=now, into=into)
            )
            add_up(report, batch, done, seen.count(done, repeated))
    if is_trial:
        report.outcomes["repeated"] = report.repeated
    return report


# Does a dry run.
try_subscribers = partial(import_subscribers, is_trial=True)


@contextmanager
def _read(
    report: ImportReport, subscribable: Subscribable, lines: Iterable[str], terms: Terms, now: datetime
) -> Iterator[Iterator[Batch]]:
    kind = kind_of_list(subscribable)
    with readable_twice(lines) as again:
        head, remaining = split_head(again)
        try:
            survey = survey_of(head, terms, records(remaining, head))
        except ValidationError as error:
            if HEADER not in error.messages:
                raise
            name = column_of_addresses(head, records(remaining, head))
            if name:
                words = f"{HEADER} “{name[:40]}” has nothing but addresses."
                raise AmbiguousColumns(words, {name: "email"}) from None
            raise
        columns = heading_of(head, terms, survey)
        if columns.questions:
            raise unclear_columns(columns)
        head, remaining = split_head(again)
        report.names, report.note = head.names, columns.program.note
        report.not_used = not_used(head.names, columns, survey)
        yield batches(records(remaining, head), columns=columns, kind=kind, terms=terms, now=now)


@contextmanager
def readable_twice(lines: Iterable[str]) -> Iterator[Iterable[str]]:
    """Keep an iterator's lines in a file."""
    if iter(lines) is not lines:
        yield lines
        return
    with SpooledTemporaryFile(
        max_size=MOST_BYTES_IN_MEMORY, mode="w+", encoding="utf-8", errors="surrogatepass", newline=""
    ) as file:
        file.writelines(lines)
        yield _FromBeginning(file)


class _FromBeginning:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        return iter(lambda: self._file.readline(LONGEST_LINE), "")


@transaction.atomic
def import_batch(
    subscribable: Subscribable, batch: Batch, *, terms: Terms, now: datetime, into: ListImport | None = None
) -> ImportPlan:
    """Store a batch, with its subscriptions locked."""
    done = store_batch(subscribable, batch.wanted, terms=terms, now=now)
    if into is not None and any(done.changes.values()):
        ListChange.objects.create(list_import=into, changes=done.changes)
    return done


def try_batch(subscribable: Subscribable, batch: Batch) -> ImportPlan:
    known = existing_subscribers(subscribable, batch.wanted)
    return plan_import(batch.wanted, known, owners_of_upstream_ids(batch.wanted))


def add_up(report: ImportReport, batch: Batch, done: ImportPlan, outcomes: Counter[str]) -> None:
    report.added += done.added
    report.updated += done.updated
    report.unchanged += done.unchanged
    report.ending += done.ending
    report.lost_dates += sum(wanted.row.has_lost_a_date for wanted in batch.wanted)
    report.outcomes.update(outcomes)
    report.refuse(sorted([*batch.refused, *done.refused], key=lambda each: each.line))


class SeenAddresses:
    """State of each address, so that it counts once. In SQLite's temporary file, to bound memory."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(
            "CREATE TABLE seen (core TEXT PRIMARY KEY, status TEXT, suppressed INTEGER) WITHOUT ROWID"
        )
        self._database.execute("BEGIN")

    def drop_repeated(self, batch: Batch) -> list[Wanted]:
        """Remove lines with an earlier address from the batch, and return them."""
        fresh, repeated = dict[str, Wanted](), list[Wanted]()
        known = self._known(each.parsed.core for each in batch.wanted)
        for each in batch.wanted:
            core = each.parsed.core
            if core in known or fresh.setdefault(core, each) is not each:
                repeated.append(each)
        batch.wanted = list(fresh.values())
        self._store((core, None, None) for core in fresh)
        return repeated

    def count(self, done: ImportPlan, repeated: Sequence[Wanted] = ()) -> Counter[str]:
        """Return the outcomes of the addresses, less those counted for them before.

        `repeated` lines are judged as an import judges them, after the lines before them.
        """
        then = {core: one.then for core, one in done.planned.items()}
        before = self._known(then.keys() | {each.parsed.core for each in repeated})
        states = before | then
        for each in repeated:
            if (state := states[each.parsed.core]) is not None:
                with suppress(UnusableLine):
                    states[each.parsed.core] = after(each.row, state)
        counts: Counter[str] = Counter()
        for core, state in states.items():
            if state is not None:
                counts[state.outcome] += 1
            if (old := before.get(core)) is not None:
                counts[old.outcome] -= 1
        self._store(
            (core, state.status, state.suppressed) for core, state in states.items() if state is not None
        )
        return counts

    def _known(self, cores: Iterable[str]) -> dict[str, KnownSubscriber | None]:
        """Return states by address; None for one that was refused."""
        rows = self._database.execute(
            "SELECT core, status, suppressed FROM seen WHERE core IN (SELECT value FROM json_each(?))",
            (json.dumps(list(cores)),),
        )
        return {
            core: None if status is None else KnownSubscriber(status, suppressed=bool(suppressed))
            for core, status, suppressed in rows
        }

    def _store(self, rows: Iterable[tuple[str, str | None, bool | None]]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        self._database.close()


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
