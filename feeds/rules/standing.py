"""Why an item stands where it stands, in a sentence for the admin."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from feeds.rules.finality import MINUTE, Timing


@dataclass(frozen=True, slots=True)
class Standing:
    state: str
    reason: str
    first_seen: datetime
    stable_since: datetime
    final: bool
    vanished_at: datetime | None
    rolled_off: bool


def explain(item: Standing, timing: Timing, now: datetime) -> str:
    """The answer to “was it sent, and why not”."""
    if item.state == "excluded":
        return f"It is not sent: {item.reason or 'excluded'}."
    if item.state == "cleared":
        return "It is done: every collection it was in has gone out (or no newsletter took it)."
    if item.state == "assigned":
        return "It has settled and is in the collections below, waiting for them to close."
    if item.vanished_at is not None:
        return "It was withdrawn from the feed before it had settled, so it is not sent."
    if item.final:
        return "It has settled and goes into its collections at the next tick."
    return _waiting(item, timing, now)


def _waiting(item: Standing, timing: Timing, now: datetime) -> str:
    earliest = max(
        item.first_seen + (timing.min_delay + 1) * MINUTE,
        item.stable_since + (timing.await_stabilization + 1) * MINUTE,
    )
    latest = item.first_seen + (timing.max_delay + 1) * MINUTE
    wait = min(earliest, latest) - now
    if wait <= timedelta(0):
        words = "It has waited long enough and settles at the next reading of the feed"
    else:
        words = f"It settles in {max(wait // MINUTE, 1)} minutes if it stays as it is"
    rolled = " It has left the feed at its old end; what we kept is sent." if item.rolled_off else ""
    return f"{words}; the feed must be read then.{rolled}"
