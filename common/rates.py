"""How often something was done in a while: counted in the cache, whichever process asks.

For what costs time, not for what guards rights: a cache may forget.
"""

from django.core.cache import cache

from common.net.addresses import networks_of


def count_request(key: str, seconds: int) -> int:
    """Counts one more request; returns how many there were, with it. Forgotten after twice the seconds."""
    key = f"throttle:{key}"
    cache.add(key, 0, seconds * 2)
    try:
        return cache.incr(key)
    except ValueError:  # forgotten between the two
        return 1


def is_within(key: str, most: int, *, seconds: int = 60) -> bool:
    """Counts this time, and says whether it is among the first `most` of a stretch of so many seconds."""
    cache.add(key, 0, seconds)
    try:
        return cache.incr(key) <= most
    except ValueError:  # forgotten between the two
        return True


def is_within_for_address(key: str, ip: str, most: int, *, seconds: int = 60) -> bool:
    """Count this time for each network of a client's address; return whether none had too many."""
    counts = networks_of(ip).items()
    # Each is counted, also after one that had too many.
    within = [is_within(f"{key}:{network}", most * times, seconds=seconds) for network, times in counts]
    return all(within)


def requests_so_far(key: str) -> int:
    """How many `count_request` counted; this counts none."""
    return int(cache.get(f"throttle:{key}", 0))
