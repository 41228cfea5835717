"""When what happens in a chaotic run: drawn from a seed, so that a run can be repeated."""

import random
from dataclasses import dataclass

OUTAGE_SECONDS = 10.0
# Of the time that the letters take: then the last event comes before the last letter.
PART = 0.85
# Seconds between two events of a server, at the least.
APART = 3.0


@dataclass(frozen=True, slots=True)
class Chaos:
    """How much of it. `rate` is the lane's, in letters a second: low, so that all falls into the run.

    The mail server answers after so many seconds: then nearly every death leaves letters in doubt.
    """

    letters: int = 20_000
    kills: int = 0
    restarts: int = 0
    outages: int = 0
    rate: float = 65.0
    connections: int = 10
    workers: int = 3
    answers_after: int = 0
    seed: int = 0

    @property
    def seconds(self) -> float:
        """How long the letters take at the least."""
        answers = self.connections / self.answers_after if self.answers_after else self.rate
        return self.letters / min(self.rate, answers)


def timeline(chaos: Chaos) -> list[tuple[float, str]]:
    """Seconds after the first letter, and what is done then, in order: kill, down, up, fast or immediate.

    Kills come at any moment; the servers' events take turns, each within a part of the time of its own.
    Raises ValueError when that is too short.
    """
    chance, until = random.Random(chaos.seed), chaos.seconds * PART
    kills = [(chance.uniform(0, until), "kill") for _ in range(chaos.kills)]
    servers = ["outage"] * chaos.outages + ["restart"] * chaos.restarts
    chance.shuffle(servers)
    part = until / max(len(servers), 1)
    if servers and part < APART + (OUTAGE_SECONDS if chaos.outages else 0):
        raise ValueError("The letters are sent too soon for so many events: more letters, or a lower rate.")
    modes = ("immediate", "fast") * chaos.restarts
    others: list[tuple[float, str]] = []
    for number, kind in enumerate(servers):
        takes = APART + (OUTAGE_SECONDS if kind == "outage" else 0)
        at = number * part + chance.uniform(0, max(part - takes, 0))
        if kind == "outage":
            others += [(at, "down"), (at + OUTAGE_SECONDS, "up")]
        else:
            others.append((at, modes[sum(done in modes for _, done in others)]))
    return sorted(kills + others)
