"""Moves by real processes, which are killed: helpers of the acceptance tests."""

import hashlib
import json
import random
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.load.installation import Installation, sqlite_installation

# One process, as starting Django takes seconds.
RUNS = """
import json
from io import StringIO
from pathlib import Path
from django.core.management import call_command
from tests.site.migrate_from.acceptance import everything
for options in {runs!r}:
    out = StringIO()
    call_command(*{command!r}, *options, "--json", stdout=out)
    print("RUN", json.dumps([json.loads(out.getvalue()), everything(Path({folder!r}))]))
"""
SEND = """
from datetime import datetime, timedelta
from delivery.issues.pause import resume_newsletter
from delivery.models import Delivery
from subscriptions.models import Subscribable
from tests.site.migrate_from.test_cordfeeder import rounds
now = datetime.fromisoformat({now!r})
rounds(3, begin=now)
paused = Subscribable.objects.exclude(sending_paused_at=None)
assert not Delivery.objects.filter(issue__subscribable__in=paused, state="sent").exists()
for row in paused:
    resume_newsletter(subscribable_id=row.pk, now=now)
rounds(6, begin=now + timedelta(hours=1))
for day in range(1, {days}):
    rounds(2, begin=now + timedelta(days=day))
"""
ITEMS = "SELECT f.url, i.guid, i.state FROM feeds_item i JOIN feeds_feed f ON f.id = i.feed_id ORDER BY 1, 2"
ORIGINS = "SELECT source, kind, old_key, finished_at IS NULL FROM feedletter_site_origin ORDER BY 1, 2, 3"


def installed(stack: ExitStack, folder: Path, **environment: Any) -> Installation:
    folder.mkdir()
    return stack.enter_context(sqlite_installation(folder, **environment))


def answers(folder: Path, queries: Sequence[str]) -> list[list[Any]]:
    with closing(sqlite3.connect(folder / "feedletter.db")) as connection:
        return [connection.execute(query).fetchall() for query in queries]


def everything(folder: Path) -> str:
    """Return a digest of all rows."""
    with closing(sqlite3.connect(folder / "feedletter.db")) as connection:
        lines = (line for line in connection.iterdump() if "sqlite_sequence" not in line)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def wait_for_rows(folder: Path, query: str, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the query has so many rows, or the process has ended."""
    end = time.monotonic() + 120
    while len(answers(folder, [query])[0]) < count and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)


def moved(
    site: Installation, command: Sequence[str], *, options: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Preview, import and import again; return the first two reports. Twice is once."""
    before = everything(site.folder)
    runs: list[list[str]] = [["--dry-run", "--read"], list(options), []]
    text = RUNS.format(runs=runs, command=list(command), folder=str(site.folder))
    output = site.script(text, timeout=300)
    (preview, unchanged), (facts, once), (again, twice) = (
        json.loads(line.removeprefix("RUN ")) for line in output.splitlines() if line.startswith("RUN ")
    )
    assert unchanged == before
    assert twice == once
    assert again["counts"]["there already"]
    return preview, facts


def moved_with_kills(
    site: Installation,
    command: Sequence[str],
    outcome: Sequence[str],
    wanted: list[list[Any]],
    points: Sequence[int],
) -> None:
    """Kill runs when the first query has so many rows; the last run ends like one that was never killed."""
    cut_off = 0
    for point in points:
        process = site.start("manage.py", *command)
        wait_for_rows(site.folder, outcome[0], point, process)
        time.sleep(random.uniform(0, 0.5) if point == 0 else 0)
        site.kill(process)
        cut_off += answers(site.folder, outcome) != wanted
    if not cut_off:
        pytest.skip("each run ended before it could be killed")
    site.manage(*command)
    for query, rows, expected in zip(outcome, answers(site.folder, outcome), wanted, strict=True):
        assert rows == expected, query


def said_in(facts: dict[str, Any]) -> str:
    """Return the report's lines and notes."""
    rows = (f"{row['what']} {row['kind']} {row['name']}: {row['words']}" for row in facts["lines"])
    return "\n".join([*rows, *facts["notes"]])


def not_said(facts: dict[str, Any], traps: Sequence[str]) -> list[str]:
    return [trap for trap in traps if trap not in said_in(facts)]
