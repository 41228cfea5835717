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
        "settling": Words("some of its posts aren’t settled yet", "posts are settling"),
        "rhythm": Words("this matches how often it publishes", "its rhythm"),
        "warm_up": Words("it is new, and we are still learning how often it publishes", "new here"),
        "cache": Words("its server says that nothing changes before then", "set by its server"),
        "ttl": Words("the feed asks not to be read sooner (ttl)", "set by the feed (ttl)"),
        "skip": Words("the feed names hours or days when it must not be read", "hours it names"),
        "hub": Words("its hub pushes new posts, so it is read less often", "pushed by its hub"),
        "backoff": Words(
            "after failures it is read less and less often, but at least once a day", "backing off"
        ),
        "unreachable": Words(
            "its server doesn’t answer; it is read once the server answers for any of its feeds", "no answer"
        ),
        "probe": Words("its server doesn’t answer; we try every hour", "trying its server"),
        "host_back": Words("its server answers again", "its server is back"),
        "gone": Words("its server says that it is gone; we believe it after a day", "is it gone?"),
        "retry_after": Words("its server asked us to wait until then", "its server asked (Retry-After)"),
        "hurry": Words("an issue is due, or somebody asked", "wanted at once"),
        "push": Words("its hub announced new posts", "announced by its hub"),
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
