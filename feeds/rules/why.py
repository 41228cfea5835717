from collections.abc import Mapping
from types import MappingProxyType

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


def because(code: str, *, every_minutes: int, failing: bool = False) -> str:
    """Complete “In 10 minutes: …”."""
    return WHY.get(code, WHY["backoff" if failing else "interval"])[0].format(every=every(every_minutes))


def in_short(code: str) -> str:
    return WHY[code][1] if code in WHY else ""


def every(minutes: int) -> str:
    """Return "every 10 minutes" or "every 2 hours"."""
    for size, word in ((24 * 60, "day"), (60, "hour")):
        if minutes >= size and minutes % size == 0:
            return _every(minutes // size, word)
    return _every(minutes, "minute")


def _every(count: int, word: str) -> str:
    return f"every {count:,} {word}s" if count > 1 else f"every {word}"
