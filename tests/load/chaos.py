"""`make chaos`: workers, PostgreSQL and the mail server die at random moments while letters go out.

Three runs: 50 workers killed; some more with a slow mail server, so that each kill leaves letters in doubt;
then PostgreSQL restarted five times and the mail server dead for 10 s three times. The messages that the mail
server accepted are counted. Then one fault after the other without kills (chaos_faults.py): no Redis, beat
frozen, a database that vanishes silently, wrong clocks, a worker frozen, a deployment. Exits 1 if a reader
was missed, or got more copies than the barrier allows, or a fault delayed all letters for more than a minute,
or was not reported. Takes about half an hour.
"""
# ruff: noqa: T201 - its words are for whoever typed `make chaos`

import argparse
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from tests.load import chaos_faults
from tests.load.chaos_faults import FAULTS, Fault
from tests.load.chaos_run import prepared
from tests.load.chaos_verdict import Chaos, timeline
from tests.services import Missing

WORKERS = Chaos(kills=50)
SLOWLY = Chaos(letters=4_000, kills=15, connections=40, answers_after=1)
SERVERS = Chaos(restarts=5, outages=3, workers=2)
RUNS = {"workers": WORKERS, "slowly": SLOWLY, "servers": SERVERS}
NUMBERS = ("letters", "kills", "restarts", "outages", "connections", "workers", "answers-after")


def main(arguments: Sequence[str]) -> int:
    """Print a line for each event, and the figures after each run."""
    asked = parsed(arguments)
    # To end all child processes when this one is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    seed = random.randrange(1_000_000) if asked.seed is None else asked.seed
    given = {name: value for name, value in vars(asked).items() if value is not None and name != "only"}
    names = asked.only.split(",") if asked.only else [*RUNS, *FAULTS]
    try:
        return max(
            [
                run_fault(name, FAULTS[name], seed)
                if name in FAULTS
                else run(name, replace(RUNS[name], **given | {"seed": seed}))
                for name in names
            ]
        )
    except Missing as error:
        print(f"Missing: {error}.", file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
    return 1


def run(name: str, chaos: Chaos) -> int:
    timeline(chaos)
    print(f"{name}: {chaos}", flush=True)
    started = time.monotonic()
    with prepared(chaos, lambda line: print(line, flush=True)) as ready:
        verdict = ready.verdict()
        alone = f", {ready.died_alone} processes ended by themselves" if ready.died_alone else ""
    broken = verdict.broken()
    print(f"{name}: {verdict}{alone}; {time.monotonic() - started:.0f} s, --seed {chaos.seed}")
    for words in broken:
        print(f"{name}: BROKEN: {words}", file=sys.stderr)
    return 1 if broken else 0


def run_fault(name: str, fault: Fault, seed: int) -> int:
    """Run one fault, and also report how long no letter arrived."""
    print(f"{name}: {fault.do.__name__.replace('_', ' ')}", flush=True)
    started = time.monotonic()
    with chaos_faults.prepared(fault, lambda line: print(line, flush=True), seed=seed) as ready:
        verdict = ready.verdict()
        broken, silence = ready.broken(verdict), ready.silence()
    print(
        f"{name}: {verdict.letters:,} letters: {verdict.lost} lost, {verdict.doubled} doubled (allowed "
        f"{verdict.bound}), longest silence {silence:.1f} s, {ready.died_alone} processes ended alone; "
        f"{time.monotonic() - started:.0f} s"
    )
    for words in broken:
        print(f"{name}: BROKEN: {words}", file=sys.stderr)
    return 1 if broken else 0


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.load.chaos", description=__doc__)
    parser.add_argument("--only", help="some of the runs: " + ", ".join([*RUNS, *FAULTS]))
    for name in (*NUMBERS, "seed"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--rate", type=float, help="letters a second")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
