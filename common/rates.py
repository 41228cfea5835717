"""How many requests somebody made in a while: counted in the cache, whichever process asks."""

from django.core.cache import cache


def count_request(key: str, seconds: int) -> int:
    """Counts one more request; returns how many there were, with it. Forgotten after twice the seconds."""
    key = f"throttle:{key}"
    cache.add(key, 0, seconds * 2)
    try:
        return cache.incr(key)
    except ValueError:  # forgotten between the two
        return 1


def is_within(most: int, key: str, *, seconds: int, now: float) -> bool:
    """Counts one more request; whether the window of so many seconds, in which it falls, may have it.

    `now` in seconds since 1970.
    """
    return count_request(f"{key}:{int(now // seconds)}", seconds) <= most


def requests_so_far(key: str) -> int:
    """How many `count_request` counted; this counts none."""
    return int(cache.get(f"throttle:{key}", 0))
