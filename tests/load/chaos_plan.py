"""Schedule of a chaotic run, drawn from a seed, so that a run can be repeated."""

import random
from dataclasses import dataclass

OUTAGE_SECONDS = 10.0
# Share of the sending time: the last event is before the last letter.
PART = 0.85
# Minimum seconds between two events of a server.
APART = 3.0


@dataclass(frozen=True, slots=True)
class Chaos:
    """Size of a run. `rate` is the lane's, in letters a second: low, so that all events fall into the run.

    `answers_after` is the mail server's delay in seconds: with it nearly every kill leaves letters in doubt.
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
        """Return the minimum duration of sending."""
        answers = self.connections / self.answers_after if self.answers_after else self.rate
        return self.letters / min(self.rate, answers)


def timeline(chaos: Chaos) -> list[tuple[float, str]]:
    """Return (seconds after the first letter, event) in order: kill, down, up, fast or immediate.

    Kills come at any moment; the servers' events alternate, each within its own part of the time. Raises
    ValueError if that is too short.
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
