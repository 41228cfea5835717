"""Verdict on a chaotic run by the sink's copies: missed and doubled letters, and the causes.

Schedule of a chaotic run, drawn from a seed, so that a run can be repeated.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

OUTAGE_SECONDS = 10.0
# Share of the sending time: the last event is before the last letter.
PART = 0.85
# Minimum seconds between two events of a server.
APART = 3.0
# Seconds within which an acceptance is surely durable: a death can lose only a younger one.
FORGETS = 2.0
# After a restart of PostgreSQL, workers may still hold outcomes that they could not write.
CATCHES_UP = 10.0
# Data already sent by a killed client arrives a moment later.
ARRIVES = 1.0


@dataclass(frozen=True, slots=True)
class Copy:
    """Message accepted by the sink, and when (seconds since the epoch)."""

    recipient: str
    at: float


@dataclass(frozen=True, slots=True)
class Event:
    """Event of a run.

    `kind` is kill (of a worker), stop (of one, for a while), outage (of the mail server) or restart (of
    PostgreSQL).
    """

    kind: str
    began: float
    ended: float

    def may_forget(self, at: float, restarts: Sequence["Event"], answers_after: float) -> bool:
        """Return whether this event may be why a message accepted at that time was sent again."""
        since = self._since(restarts) - FORGETS - answers_after
        # A process stopped in the middle of a message sends the rest when it continues.
        until = self.ended if self.kind == "stop" else self.began
        return self.kind != "restart" and since <= at <= until + ARRIVES

    def _since(self, restarts: Sequence["Event"]) -> float:
        waiting = [one.began for one in restarts if one.began <= self.began <= one.ended + CATCHES_UP]
        return min([self.began, *waiting])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Figures of a run. `doubled`: copies beyond the first; `unexplained`: copies without a cause."""

    letters: int
    connections: int
    lost: int
    doubled: int
    unexplained: int
    events: Counter[str]
    most_by_one: int
    in_time: bool
    unsent: dict[str, int] = field(default_factory=dict)

    @property
    def bound(self) -> int:
        """Return one for each open connection at each death or stop of a worker or the mail server."""
        return sum(self.events[kind] for kind in ("kill", "stop", "outage")) * self.connections

    def broken(self) -> list[str]:
        """Return the bounds that do not hold; none in a good run."""
        checks = {
            f"{self.lost} lost": self.lost == 0,
            f"{self.doubled} doubled, {self.bound} allowed": self.doubled <= self.bound,
            f"{self.unexplained} doubled although nothing died": self.unexplained == 0,
            f"{self.most_by_one} doubled by one death": self.most_by_one <= self.connections,
            f"left in the ledger: {self.unsent}": not self.unsent,
            "not all of it fell into the run: lower the rate": self.in_time,
        }
        return [words for words, holds in checks.items() if not holds]

    def __str__(self) -> str:
        events, restarts = self.events, self.events["restart"]
        return (
            f"{self.letters:,} letters, {events['kill']} workers killed, PostgreSQL restarted {restarts} "
            f"times, mail server dead {events['outage']} times: {self.lost} lost, {self.doubled} doubled "
            f"(allowed {self.bound}; at most {self.most_by_one} by one death, {self.unexplained} by none)"
        )


def judge(
    *,
    wanted: Collection[str],
    copies: Sequence[Copy],
    events: Sequence[Event],
    connections: int,
    ledger: dict[str, int],
    answers_after: float = 0.0,
) -> Verdict:
    """Count at the sink; `ledger` is the number of deliveries by state."""
    times: dict[str, list[float]] = defaultdict(list)
    for copy in copies:
        times[copy.recipient].append(copy.at)
    forgotten = [at for all_of_one in times.values() for at in sorted(all_of_one)[:-1]]
    causes = [_cause(at, events, answers_after) for at in forgotten]
    by_event = Counter(cause for cause in causes if cause is not None)
    firsts = [min(all_of_one) for all_of_one in times.values()]
    return Verdict(
        letters=len(wanted),
        connections=connections,
        lost=len(set(wanted) - times.keys()),
        doubled=len(copies) - len(times),
        unexplained=causes.count(None),
        events=Counter(event.kind for event in events),
        most_by_one=max(by_event.values(), default=0),
        in_time=all(event.ended < max(firsts, default=0.0) for event in events),
        unsent={state: count for state, count in ledger.items() if state != "sent"},
    )


def _cause(at: float, events: Sequence[Event], answers_after: float) -> Event | None:
    """Return the first event after an acceptance that may have lost it."""
    restarts = [event for event in events if event.kind == "restart"]
    return next((event for event in events if event.may_forget(at, restarts, answers_after)), None)


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
