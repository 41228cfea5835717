"""A repeated run adds what is missing and overwrites nothing.

Our own rows are written before an upload's report and count of parts: the next worker finds them.

A dry run reads each feed once: it is taken over and judged like a poll, in a transaction that is rolled back.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from common.admin.refusals import refusal_sentence
from common.clock import utcnow
from common.db.bulk import batched
from common.db.leases import held
from common.net.client import client
from common.passes import TimeBudget
from common.refused import Refused
from common.secrets import opened
from common.text import one_line, pluralize, shortened, without_controls
from common.transactions import forbid_open_transaction
from common.uploads import process_uploads, unpacked
from feedletter_site.migrate_from.source import (
    READING,
    Origins,
    Part,
    Plan,
    Source,
    TakenMeanwhile,
    source_called,
)
from feedletter_site.models import Arrival, ArrivalLine
from feeds.addresses import host_of_url
from feeds.items.dry_run import FAILED, DryRun, judged
from feeds.models import Feed
from feeds.polling.claims import asks
from feeds.polling.poll import Fetchers, HostQueue
from feeds.polling.read import Ask, Reading
from migrate_from.records import ImportResult, Line, Options, Question, Undecided

TITLES_OF_A_FEED = 20
LONGEST_TITLE = 200
PAUSE_SECONDS = 0.2
# Events of a dry run for posts that would be sent, and for posts that leave the feed.
NEW, HELD, GONE = ("new", "settled at once"), ("held",), ("withdrawn", "dropped")
WHY_HELD = (
    "waits for your decision, because it may have been sent already, or there are far more posts than usual"
)
State = Arrival.State
FOLDER = "feedletter-arrival"


class Doing(StrEnum):
    """`LOOK` and `READ` change nothing."""

    LOOK = "look"
    READ = "read"
    TAKE = "take"


# Parts per batch: an interrupted run resumes after the last one. Several feeds are read in parallel.
TOGETHER = {Doing.LOOK: 50, Doing.READ: 32, Doing.TAKE: 1}
DOING = {State.LOOKING: Doing.LOOK, State.READING: Doing.READ, State.TAKING: Doing.TAKE}


def process(
    source: Source,
    plan: Plan,
    doing: Doing,
    *,
    now: datetime,
    begin: int = 0,
    told: Callable[[], object] = lambda: None,
) -> Iterator[tuple[int, Sequence[Line]]]:
    """Yield how many parts are done, and lines. `told` is called between parts. Raises Refused."""
    origins = Origins(source.key)
    if doing is Doing.TAKE and plan.parts:
        source.prepare(now=now)
    done = begin
    if not begin and doing is not Doing.READ and (gone := list(plan.gone(origins))):
        yield 0, gone
    for parts in batched(plan.parts[begin:], TOGETHER[doing]):
        if doing is Doing.READ:
            lines = read_ahead(parts, origins, now=now, told=told)
        else:
            lines = [line for part in parts for line in _lines_of(part, doing, origins, now)]
        done += len(parts)
        yield done, lines


def _lines_of(part: Part, doing: Doing, origins: Origins, now: datetime) -> Sequence[Line]:
    try:
        return (part.preview if doing is Doing.LOOK else part.take)(origins, now=now)
    except TakenMeanwhile:
        # Now its origin is there.
        return _lines_of(part, doing, origins, now)


def read_ahead(
    parts: Sequence[Part], origins: Origins, *, now: datetime, told: Callable[[], object] = lambda: None
) -> list[Line]:
    """`told` is called after each feed."""
    forbid_open_transaction()
    lines, asked = [], []
    for part in parts:
        try:
            feed = part.feed_ahead(origins, now=now)
        except (Refused, ValidationError) as error:
            lines.append(Line(ImportResult.UNREAD, "feed", part.name, refusal_sentence(error)))
        else:
            asked += [(part, feed)] if feed is not None else []
    for part, ask, answer in _answers(asked):
        lines += _judged(part, ask, answer, origins, now)
        told()
    return lines


def _answers(asked: Sequence[tuple[Part, Feed]]) -> Iterator[tuple[Part, Ask, Reading]]:
    """Fetch with the limits of polls per host."""
    hosts: dict[str, HostQueue] = {}
    waiting: dict[int, tuple[Part, Ask]] = {}
    for part, feed in asked:
        (ask,) = asks([feed], utcnow())
        waiting[id(ask)] = (part, ask)
        name = host_of_url(feed.url)
        if name not in hosts:
            hosts[name] = HostQueue(name, settings.POLL_HOST_REQUESTS, settings.POLL_HOST_GAP, next_start=0.0)
        hosts[name].asks.append(ask)
    with closing(Fetchers(settings.POLL_THREADS, client(), utcnow)) as fetchers:
        while waiting:
            for host in hosts.values():
                if not fetchers.is_full and (ready := host.next_ask(time.monotonic())):
                    fetchers.start(ready, host.name)
            if not fetchers.running:
                time.sleep(PAUSE_SECONDS)
            for done in fetchers.finished(PAUSE_SECONDS):
                hosts[done.host].running -= 1
                yield *waiting.pop(id(done.ask)), done.answer


def _judged(part: Part, ask: Ask, answer: Reading, origins: Origins, now: datetime) -> list[Line]:
    name, (kept,) = part.name, ask.feeds.values()
    try:
        with transaction.atomic():
            feed, waiting = part.take_feed(origins, answer, now=now)
            run = judged(feed, kept, answer)
            transaction.set_rollback(True)
    except (Refused, ValidationError) as error:
        return [Line(ImportResult.UNREAD, "feed", name, refusal_sentence(error))]
    if run.outcome == FAILED:
        return [Line(ImportResult.UNREAD, "feed", name, run.error)]
    gone = {row.pk for row in run.rows if row.event in GONE}
    there = [title for pk, title in waiting.items() if pk not in gone]
    return [
        *_posts(ImportResult.NEW, [*there, *_titles(run, NEW)], len(there) + _count(run, NEW), f"of {name}"),
        *_posts(ImportResult.ASKS, _titles(run, HELD), _count(run, HELD), f"of {name}: {WHY_HELD}"),
    ]


def _count(run: DryRun, events: Sequence[str]) -> int:
    return sum(count for event, count in run.events if event in events)


def _titles(run: DryRun, events: Sequence[str]) -> list[str]:
    return [row.title or row.link or row.guid for row in run.rows if row.event in events]


def _posts(fate: ImportResult, titles: Sequence[str], count: int, words: str) -> Iterator[Line]:
    shown = titles[:TITLES_OF_A_FEED]
    for title in shown:
        yield Line(fate, "post", shortened(one_line(title), LONGEST_TITLE), words)
    if more := count - len(shown):
        yield Line(fate, "posts", pluralize(more, "more post"), words, count=more)


@transaction.atomic
def begin_reading(arrival: Arrival, *, now: datetime) -> None:
    """Raises NotPossible."""
    row = arrival.locked(State.LOOKED)
    row.lines.filter(what__in=READING).delete()
    row.hand_on(State.READING, now, is_read=False, done=0)


@transaction.atomic
def begin_taking(arrival: Arrival, *, now: datetime) -> None:
    """Discard the preview and start. Raises NotPossible."""
    row = arrival.locked(State.LOOKED)
    row.lines.all().delete()
    row.hand_on(State.TAKING, now, begun_at=now, is_read=False, done=0)


@transaction.atomic
def answer_questions(arrival: Arrival, answers: Mapping[str, Any], *, now: datetime) -> None:
    """Look again, with these options. Raises NotPossible."""
    row = arrival.locked(*Arrival.WAITING)
    row.lines.all().delete()
    row.hand_on(State.LOOKING, now, options={**row.options, **answers}, is_read=False, done=0)


def to_take_in(now: datetime) -> tuple[QuerySet[Any], ...]:
    return (Arrival.claimable(now), Arrival.forgettable(now))


def work_off_arrivals(*, budget: timedelta) -> None:
    process_uploads(Arrival, _work, budget=budget)


def _work(row: Arrival, left: TimeBudget) -> None:
    source, doing = source_called(row.source), DOING[State(row.state)]
    with unpacked(row, FOLDER) as place:
        try:
            options = Options(**row.options, secrets=opened(row.secrets))
            plan = source.read(str(place), options=options, now=utcnow())
        except Undecided as error:
            _ask(row, error.questions)
            row.finish(State.ASKING)
            return
        except Refused as error:
            # The path is temporary.
            row.trouble = str(error).replace(str(place), f"“{row.file_name}”")
            row.finish(State.UNUSABLE)
            return
    if not row.done and not _begin(row, plan, doing):
        return
    for done, lines in process(source, plan, doing, now=utcnow(), begin=row.done, told=row.renew):
        if not _record(row, done, lines):
            return
        if left.is_spent and row.done < row.parts:
            row.release()
            return
    row.is_read |= doing is Doing.READ
    row.finish(State.DONE if doing is Doing.TAKE else State.LOOKED)


def _ask(row: Arrival, questions: Sequence[Question]) -> None:
    row.questions = [asdict(question) for question in questions]


def _begin(row: Arrival, plan: Plan, doing: Doing) -> bool:
    """Return False if another worker has the row."""
    with held(row) as is_ours:
        if is_ours:
            row.parts, row.notes = len(plan.parts), list(plan.notes)
            _ask(row, plan.questions)
            if doing is not Doing.READ:
                # A killed worker may have left lines.
                row.lines.all().delete()
                _keep(row, plan.refused)
            row.save()
    return is_ours


def _record(row: Arrival, done: int, lines: Sequence[Line]) -> bool:
    """Return False if another worker has the row."""
    with held(row) as is_ours:
        if is_ours:
            _keep(row, lines)
            row.done = done
            row.note_progress()
    return is_ours


def _keep(row: Arrival, lines: Sequence[Line]) -> None:
    """PostgreSQL stores no NUL."""
    ArrivalLine.objects.bulk_create(
        ArrivalLine(
            arrival=row,
            what=line.fate,
            kind=line.kind,
            name=without_controls(line.name),
            words=without_controls(line.words),
            count=line.count,
        )
        for line in lines
    )
