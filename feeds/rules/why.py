from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Words:
    """`long` completes “In 10 minutes: …”; `short` is for the timeline."""

    long: str
    short: str


WHY: Mapping[str, Words] = MappingProxyType(
    {
        "interval": Words("it is read {every}", "its interval"),
        "settling": Words("posts of it are waiting to settle", "posts are settling"),
        "rhythm": Words("it is read at the pace at which it publishes", "its rhythm"),
        "warm_up": Words("it is new, and its pace is still being learned", "new here"),
        "cache": Words("its server says that nothing changes sooner", "its server’s wish"),
        "ttl": Words("the feed asks not to be read sooner (ttl)", "its own wish (ttl)"),
        "skip": Words("the feed names hours or days in which not to read it", "hours it names"),
        "hub": Words("its hub tells us of new posts, so it is read less often", "its hub tells us"),
        "backoff": Words(
            "after failures it is asked less and less often, at least once a day", "backing off"
        ),
        "unreachable": Words(
            "its server does not answer; once it does, for any of its feeds, this one is read", "no answer"
        ),
        "probe": Words("its server does not answer; it is tried every hour", "trying its server"),
        "host_back": Words("its server answers again", "its server is back"),
        "gone": Words(
            "its server says that it is gone, which is believed when it has said so for a day", "is it gone?"
        ),
        "retry_after": Words(
            "its server has asked to be left alone until then", "its server asked (Retry-After)"
        ),
        "hurry": Words("a period has ended, or somebody asked", "wanted at once"),
        "push": Words("its hub has told us of something new", "its hub told us"),
    }
)


def because(code: str, *, every_minutes: int, failing: bool = False) -> str:
    """Complete “In 10 minutes: …”."""
    return WHY.get(code, WHY["backoff" if failing else "interval"]).long.format(every=every(every_minutes))


def in_short(code: str) -> str:
    return WHY[code].short if code in WHY else ""


def every(minutes: int) -> str:
    """Return "every 10 minutes" or "every 2 hours"."""
    for size, word in ((24 * 60, "day"), (60, "hour")):
        if minutes >= size and minutes % size == 0:
            return _every(minutes // size, word)
    return _every(minutes, "minute")


def _every(count: int, word: str) -> str:
    return f"every {count:,} {word}s" if count > 1 else f"every {word}"
