"""What the sink's copies say after a chaotic run: who was missed, who got it twice, and because of what."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

# An acceptance that was answered is durable well within this time, in seconds: only so young a one can a
# death forget.
FORGETS = 2.0
# After a restart of PostgreSQL workers may still hold what they could not write meanwhile.
CATCHES_UP = 10.0
# What had left the client when it was killed arrives a moment later.
ARRIVES = 1.0


@dataclass(frozen=True, slots=True)
class Copy:
    """One message that the sink took, and when (seconds since the epoch)."""

    recipient: str
    at: float


@dataclass(frozen=True, slots=True)
class Event:
    """What was done: kind is kill (of a worker), stop (of one, for a while), outage (of the mail server) or
    restart (of PostgreSQL)."""

    kind: str
    began: float
    ended: float

    def may_forget(self, at: float, restarts: Sequence["Event"], answers_after: float) -> bool:
        """Whether this death may be why something accepted at that time was sent once more."""
        since = self._since(restarts) - FORGETS - answers_after
        # (What was stopped in the middle of a message sends the rest of it when it goes on.)
        until = self.ended if self.kind == "stop" else self.began
        return self.kind != "restart" and since <= at <= until + ARRIVES

    def _since(self, restarts: Sequence["Event"]) -> float:
        waiting = [one.began for one in restarts if one.began <= self.began <= one.ended + CATCHES_UP]
        return min([self.began, *waiting])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Figures of a run. `doubled`: copies beyond the first; `unexplained`: those that no death explains."""

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
        """One for each connection that was open when a worker or the mail server died, or was stopped."""
        return sum(self.events[kind] for kind in ("kill", "stop", "outage")) * self.connections

    def broken(self) -> list[str]:
        """Which bounds do not hold; none in a good run."""
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
    """Counts at the sink; `ledger` is how many deliveries are in each state."""
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
    """The first death after an acceptance that may have made it forgotten."""
    restarts = [event for event in events if event.kind == "restart"]
    return next((event for event in events if event.may_forget(at, restarts, answers_after)), None)
