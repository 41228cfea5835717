from dataclasses import dataclass
from datetime import datetime, timedelta

from feeds.rules.finality import (
    FLOOD,
    LEFT_WHILE_HELD,
    MINUTE,
    NOT_AFTER_MOVE,
    NOT_AFTER_RESTORE,
    RESTORED,
    SENT_ELSEWHERE,
    Timing,
)
from feeds.rules.only_read import LETTERS_ENDED, ONLY_READ
from feeds.rules.plan import BEYOND, NAMESAKE, OLDER, THERE_BEFORE
from feeds.rules.reposts import REPOST
from feeds.rules.rhythm import RESTLESS

BY_HAND = "by hand"
WITHDRAWN_SINCE = "its feed has withdrawn it since, and it is not sent unless it comes back"
WHY_EXCLUDED = {
    THERE_BEFORE: "it was in the feed already when the feed was added",
    OLDER: "it is older than the adding of the feed",
    BEYOND: "it stood beyond the newest posts, which alone are read in full",
    NAMESAKE: "it was there, with another post’s id or link, when these were first told apart",
    BY_HAND: "it was excluded by hand",
    REPOST: "it is the same post as one that was there before, under another id",
    FLOOD: "it came with many others at once, and they were not to be sent",
    NOT_AFTER_RESTORE: "it was held after a backup was restored, and was not to be sent",
    NOT_AFTER_MOVE: "it was held after the move from another program, and was not to be sent",
    ONLY_READ: "it came while no newsletter took its feed, which people read here",
    LETTERS_ENDED: "its feed is no longer sent; people still read it here",
    LEFT_WHILE_HELD: "it left the feed while it was held with more posts than can be kept",
}


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """`watched`: the feed is neither paused nor stopped.

    `reason`: why it is excluded or held, or newsletters that omit it.
    """

    state: str
    reason: str
    first_seen: datetime
    stable_since: datetime
    final: bool
    vanished: bool = False
    rolled_off: bool = False
    watched: bool = True
    held: bool = False
    changes: int = 0
    set_aside: bool = False

    @property
    def restless(self) -> bool:
        return self.changes >= RESTLESS


def explain(item: ItemStatus, timing: Timing, now: datetime) -> str:
    if item.state == "excluded":
        return f"Not sent: {WHY_EXCLUDED.get(item.reason, item.reason) or 'it is excluded'}."
    if item.state == "cleared":
        return _but("Done: every collection it was in has gone out, or no newsletter took it.", item.reason)
    if item.state == "assigned" and item.set_aside:
        return _but(f"Settled, but {WITHDRAWN_SINCE}.", item.reason)
    if item.state == "assigned":
        return _but("Settled, and taken into the issues of its newsletters.", item.reason)
    if item.vanished and item.final:
        return "Not sent: it was withdrawn from the feed before its issue went out. If it is back, it is new."
    if item.vanished:
        return "Not sent: it was withdrawn from the feed before it had settled."
    if item.held and item.reason == RESTORED:
        return (
            "Held for you: a backup was restored, and it may have been sent before that. Send it, or say "
            "that it is not to be sent."
        )
    if item.held and item.reason == SENT_ELSEWHERE:
        return (
            "Held for you: another program read this feed before, and may have sent it. Send it, or say that "
            "it is not to be sent."
        )
    if item.held:
        return "Held for you: it came with many others at once. Send it, or say that it is not to be sent."
    if item.final:
        return "Settled: it goes into its collections within moments."
    wait = settles_at(item, timing) - now
    unless = "whatever it says then" if item.restless else "if it stays as it is"
    if not item.watched:
        words = "Waiting: its feed is not read at the moment, and it settles only at a reading."
    elif wait <= timedelta(0):
        words = f"Waiting: it settles at the next reading of its feed, {unless}."
    else:
        words = f"Waiting: it settles in {_length(wait)}, at the next reading then, {unless}."
    if item.restless:
        words += (
            f" It has changed at each of the last {item.changes:,} readings: there is a clock, a counter or "
            f"an advertisement in it, perhaps. So it is sent after the longest delay, {timing.max_delay} "
            "minutes."
        )
    return _but(words, "It has left the feed at its old end; what was kept is sent." * item.rolled_off)


def settles_at(item: ItemStatus, timing: Timing) -> datetime:
    settled = max(
        item.first_seen + (timing.min_delay + 1) * MINUTE,
        item.stable_since + (timing.await_stabilization + 1) * MINUTE,
    )
    latest = item.first_seen + (timing.max_delay + 1) * MINUTE
    return latest if item.restless else min(settled, latest)


def _but(words: str, reason: str) -> str:
    return f"{words} {reason}" if reason else words


def _length(wait: timedelta) -> str:
    minutes = -(-wait // MINUTE)  # promise nothing too early
    for size, word in ((24 * 60, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {word}"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
