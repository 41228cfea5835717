from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from feeds.rules.facts import BEYOND, Delays
from feeds.rules.finality import (
    FLOOD,
    LEFT_WHILE_HELD,
    MINUTE,
    NOT_AFTER_MOVE,
    NOT_AFTER_RESTORE,
    RESTORED,
    SENT_ELSEWHERE,
)
from feeds.rules.plan import NAMESAKE, OLDER, THERE_BEFORE
from feeds.rules.reposts import LETTERS_ENDED, ONLY_READ, REPOST
from feeds.rules.rhythm import RESTLESS

# The first completes “In 10 minutes: …”; the second is for the timeline.
WHY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "interval": ("it is read {every}", "its interval"),
        "settling": ("some of its posts aren’t settled yet", "posts are settling"),
        "rhythm": ("this matches how often it publishes", "its rhythm"),
        "warm_up": ("it is new, and we are still learning how often it publishes", "new here"),
        "cache": ("its server says that nothing changes before then", "set by its server"),
        "ttl": ("the feed asks not to be read sooner (ttl)", "set by the feed (ttl)"),
        "skip": ("the feed names hours or days when it must not be read", "hours it names"),
        "hub": ("its hub pushes new posts, so it is read less often", "pushed by its hub"),
        "backoff": ("after failures it is read less and less often, but at least once a day", "backing off"),
        "unreachable": (
            "its server doesn’t answer; it is read once the server answers for any of its feeds",
            "no answer",
        ),
        "probe": ("its server doesn’t answer; we try every hour", "trying its server"),
        "host_back": ("its server answers again", "its server is back"),
        "gone": ("its server says that it is gone; we believe it after a day", "is it gone?"),
        "retry_after": ("its server asked us to wait until then", "its server asked (Retry-After)"),
        "hurry": ("an issue is due, or somebody asked", "wanted at once"),
        "push": ("its hub announced new posts", "announced by its hub"),
    }
)
BY_HAND = "by hand"
WITHDRAWN_SINCE = "its feed removed it since, so it is sent only if it reappears"
WHY_HELD = {
    RESTORED: "a backup was restored, so this post may have been sent already",
    SENT_ELSEWHERE: "another program used this feed before, and may have sent this post",
}
WHY_EXCLUDED = {
    THERE_BEFORE: "it was already in the feed when the feed was added",
    OLDER: "it was published before the feed was added",
    BEYOND: "it is older than the newest posts, and only those are read in full",
    NAMESAKE: "it shares its id or link with an older post in the feed",
    BY_HAND: "it was excluded by hand",
    REPOST: "it repeats an earlier post under a new id",
    FLOOD: "it arrived with many others at once, and you chose not to send them",
    NOT_AFTER_RESTORE: "it was held after a backup was restored, and you chose not to send it",
    NOT_AFTER_MOVE: "it was held after the move from another program, and you chose not to send it",
    ONLY_READ: "it appeared while no newsletter used this feed",
    LETTERS_ENDED: "no newsletter sends this feed any more; people still read it here",
    LEFT_WHILE_HELD: "it left the feed while too many posts were held to keep it",
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


def explain(item: ItemStatus, delays: Delays, now: datetime) -> str:
    if item.state == "excluded":
        return f"Not sent: {WHY_EXCLUDED.get(item.reason, item.reason) or 'it is excluded'}."
    if item.state == "cleared":
        return _but("Done: every issue it was in was sent, or no newsletter used it.", item.reason)
    if item.state == "assigned" and item.set_aside:
        return _but(f"Ready, but {WITHDRAWN_SINCE}.", item.reason)
    if item.state == "assigned":
        return _but("Ready, and added to the next issues of its newsletters.", item.reason)
    if item.vanished and item.final:
        return "Not sent: it was removed from the feed before its issue was sent. A new copy counts as new."
    if item.vanished:
        return "Not sent: it was removed from the feed before it settled."
    if item.held:
        why = WHY_HELD.get(item.reason, "it arrived with many others at once")
        return f"Held for you: {why}. Send it, or choose not to."
    if item.final:
        return "Ready for the next issue."
    wait = settles_at(item, delays) - now
    unless = "even if it changes again" if item.restless else "if it doesn’t change"
    if not item.watched:
        words = "Waiting: its feed isn’t being read, and a post settles only when its feed is read."
    elif wait <= timedelta(0):
        words = f"Waiting: it settles at the next reading of its feed, {unless}."
    else:
        words = f"Waiting: it settles in {_length(wait)}, {unless}."
    if item.restless:
        words += (
            f" It changed at each of the last {item.changes:,} readings, perhaps because of a clock, "
            "a counter or an ad in it. So it is sent after the longest delay, "
            f"{delays.max_delay_minutes} minutes."
        )
    return _but(words, "Newer posts pushed it out of the feed; the stored copy is sent." * item.rolled_off)


def settles_at(item: ItemStatus, delays: Delays) -> datetime:
    settled = max(
        item.first_seen + (delays.min_delay_minutes + 1) * MINUTE,
        item.stable_since + (delays.await_stabilization_minutes + 1) * MINUTE,
    )
    latest = item.first_seen + (delays.max_delay_minutes + 1) * MINUTE
    return latest if item.restless else min(settled, latest)


def _but(words: str, reason: str) -> str:
    return f"{words} {reason}" if reason else words


def _length(wait: timedelta) -> str:
    minutes = -(-wait // MINUTE)  # promise nothing too early
    for size, word in ((24 * 60, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{round(minutes / size)} {word}"
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def because(code: str, *, every_minutes: int, failing: bool = False) -> str:
    """Complete “In 10 minutes: …”."""
    return WHY.get(code, WHY["backoff" if failing else "interval"])[0].format(every=every(every_minutes))


def in_short(code: str) -> str:
    return WHY[code][1] if code in WHY else ""


def every(minutes: int) -> str:
    """Return "every 10 minutes" or "every 2 hours"."""
    units = ((24 * 60, "day"), (60, "hour"))
    size, word = next((unit for unit in units if minutes and minutes % unit[0] == 0), (1, "minute"))
    count = minutes // size
    return f"every {count:,} {word}s" if count > 1 else f"every {word}"
