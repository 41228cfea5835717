"""A repeated run adds what is missing and overwrites nothing."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from common.db.bulk import batched
from feedletter_site.migrate_from.read_ahead import read_ahead
from feedletter_site.migrate_from.report import Line, Origins
from feedletter_site.migrate_from.source import Plan, Source


class Doing(StrEnum):
    """`LOOK` and `READ` change nothing."""

    LOOK = "look"
    READ = "read"
    TAKE = "take"


# Parts per batch: an interrupted run resumes after the last one. Several feeds are read in parallel.
TOGETHER = {Doing.LOOK: 50, Doing.READ: 32, Doing.TAKE: 1}


class Batch(NamedTuple):
    done: int
    lines: Sequence[Line]


def process(
    source: Source,
    plan: Plan,
    doing: Doing,
    *,
    now: datetime,
    begin: int = 0,
    told: Callable[[], object] = lambda: None,
) -> Iterator[Batch]:
    """`told` is called between parts. Raises Refused."""
    origins = Origins(source.key)
    if doing is Doing.TAKE and plan.parts:
        source.prepare(now=now)
    done = begin
    if not begin and doing is not Doing.READ and (gone := list(plan.gone(origins))):
        yield Batch(0, gone)
    for parts in batched(plan.parts[begin:], TOGETHER[doing]):
        if doing is Doing.READ:
            lines = read_ahead(parts, origins, now=now, told=told)
        elif doing is Doing.LOOK:
            lines = [line for part in parts for line in part.preview(origins, now=now)]
        else:
            lines = [line for part in parts for line in part.take(origins, now=now)]
        done += len(parts)
        yield Batch(done, lines)
