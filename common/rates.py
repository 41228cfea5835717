"""Rate limits in the cache, which may lose them: do not guard rights with these."""

from django.core.cache import cache

from common.net.addresses import networks_of


def count_request(key: str, seconds: int) -> int:
    """Return the total, which expires after twice the seconds."""
    key = f"throttle:{key}"
    cache.add(key, 0, seconds * 2)
    try:
        return cache.incr(key)
    except ValueError:  # expired in between
        return 1


def is_within(key: str, most: int, *, seconds: int = 60) -> bool:
    cache.add(key, 0, seconds)
    try:
        return cache.incr(key) <= most
    except ValueError:  # expired in between
        return True


def is_within_for_address(key: str, ip: str, most: int, *, seconds: int = 60) -> bool:
    """Count for each network of the address; return whether all are within the limit."""
    counts = networks_of(ip).items()
    # Not short-circuited: every network must be counted.
    within = [is_within(f"{key}:{network}", most * times, seconds=seconds) for network, times in counts]
    return all(within)


def requests_so_far(key: str) -> int:
    return int(cache.get(f"throttle:{key}", 0))
