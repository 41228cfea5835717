"""Why an item stands where it stands, in a sentence for the admin."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from feeds.rules.finality import MINUTE, Timing
from feeds.rules.plan import BEYOND, OLDER, THERE_BEFORE

BY_HAND = "by hand"
WHY_EXCLUDED = {
    THERE_BEFORE: "it was in the feed already when the feed was added",
    OLDER: "it is older than the adding of the feed",
    BEYOND: "it stood beyond the newest posts, which alone are read in full",
    BY_HAND: "it was excluded by hand",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """`watched`: its feed is being read, neither paused nor stopped."""

    state: str
    reason: str
    first_seen: datetime
    stable_since: datetime
    final: bool
    vanished: bool = False
    rolled_off: bool = False
    watched: bool = True


def explain(item: Standing, timing: Timing, now: datetime) -> str:
    """The answer to “was it sent, and why not”."""
    if item.state == "excluded":
        return f"Not sent: {WHY_EXCLUDED.get(item.reason, item.reason) or 'it is excluded'}."
    if item.state == "cleared":
        return "Done: every collection it was in has gone out, or no newsletter took it."
    if item.state == "assigned":
        return "Settled, and in a collection: it goes out when that closes."
    if item.vanished:
        return "Not sent: it was withdrawn from the feed before it had settled."
    if item.final:
        return "Settled: it goes into its collections within moments."
    return _waiting(item, timing, now)


def settles_at(item: Standing, timing: Timing) -> datetime:
    """The first moment at which a reading finds it final, if it stays as it is. (Whole minutes, and more.)"""
    settled = max(
        item.first_seen + (timing.min_delay + 1) * MINUTE,
        item.stable_since + (timing.await_stabilization + 1) * MINUTE,
    )
    return min(settled, item.first_seen + (timing.max_delay + 1) * MINUTE)


def _waiting(item: Standing, timing: Timing, now: datetime) -> str:
    wait = settles_at(item, timing) - now
    if not item.watched:
        words = "Waiting: its feed is not read at the moment, and it settles only at a reading."
    elif wait <= timedelta(0):
        words = "Waiting: it settles at the next reading of its feed, if it stays as it is."
    else:
        words = f"Waiting: it settles in {_length(wait)}, at the next reading then, if it stays as it is."
    return (
        f"{words} It has left the feed at its old end; what was kept is sent." if item.rolled_off else words
    )


def _length(wait: timedelta) -> str:
    minutes = -(-wait // MINUTE)  # rounded up: promised no earlier than it is
    for size, word in ((24 * 60, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {word}"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
