"""Import and export of a million subscribers as CSV."""

import csv
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from subscriptions.models import Subscribable, Subscription

MANY = 1_000_000
BIG_DOMAINS, SMALL_DOMAINS = 12, 30_011
# Goals: rows a second, and megabytes.
IMPORT, EXPORT, MEMORY = 10_000.0, 10_000.0, 150.0
EVERY = 0.05
HEADING = ("email", "name", "status", "language", "added", "confirmed", "left", "consent_words", "consent_at")


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    megabytes: float


def lists() -> list[dict[str, object]]:
    newsletter = Subscribable.objects.create(name="big", title="Big", from_email="Bench <b@example.org>")
    with TemporaryDirectory(prefix="feedletter-lists-") as folder:
        file, out = Path(folder) / "list.csv", Path(folder) / "out.csv"
        write(file, MANY)
        tried = command("import_subscribers", newsletter.name, str(file), "--dry-run")
        taken = command("import_subscribers", newsletter.name, str(file))
        assert Subscription.objects.count() == MANY
        handed = command("export_subscribers", newsletter.name, "--output", str(out))
        with out.open("rb") as lines:
            assert sum(1 for _ in lines) == MANY + 1
        again = command("import_subscribers", newsletter.name, str(out))
    runs = (("dry run", tried, IMPORT), ("import", taken, IMPORT), ("export", handed, EXPORT))
    return [
        *(figure(f"{name} of {MANY:,}", run, wanted) for name, run, wanted in runs),
        figure("the same list again", again, IMPORT),
        memory(max(run.megabytes for run in (tried, taken, handed, again))),
    ]


def figure(name: str, run: Run, wanted: float) -> dict[str, object]:
    rate = MANY / run.seconds
    named = {"figure": f"{name} ({run.megabytes:.0f} MB)", "rate": rate, "unit": "rows/s"}
    return {**named, "baseline": "wanted", "baseline_rate": wanted, "ratio": rate / wanted}


def memory(peak: float) -> dict[str, object]:
    named = {"figure": "  memory, at most", "rate": peak, "unit": "MB"}
    return {**named, "baseline": "wanted", "baseline_rate": MEMORY, "ratio": MEMORY / peak}


def command(*arguments: str) -> Run:
    """Run a command, watching its peak memory (VmHWM)."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "manage.py", *arguments], stdout=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, peak_of(process.pid))
        time.sleep(EVERY)
    seconds = time.perf_counter() - began
    assert process.returncode == 0, arguments
    return Run(seconds, peak)


def peak_of(pid: int) -> float:
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    except OSError:
        return 0.0
    return int(match[1]) / 1024 if match else 0.0


def write(file: Path, count: int) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(HEADING)
        writer.writerows(rows(count))


def rows(count: int) -> Iterator[tuple[str, ...]]:
    added, words = "2025-03-02T12:00:00+00:00", "Signed up on example.org with double opt-in"
    for number in range(count):
        status = "unsubscribed" if number % 20 == 0 else "unconfirmed" if number % 20 == 1 else "confirmed"
        confirmed = added if status != "unconfirmed" else ""
        left = "2025-06-02" if status == "unsubscribed" else ""
        yield address(number), f"Jürgen Reader {number}", status, "de", added, confirmed, left, words, added


def address(number: int) -> str:
    """Use a large provider for 70 %."""
    domain = f"big{number % BIG_DOMAINS}" if number % 10 < 7 else f"small{number % SMALL_DOMAINS}"
    return f"Reader.{number}@{domain}.example.org"
