"""How often something may be done, counted in the cache: for what costs time, not for what guards rights."""

from django.core.cache import cache


def is_within(what: str, most: int, *, seconds: int = 60) -> bool:
    """Counts this time, and says whether it is among the first `most` of a stretch of so many seconds."""
    cache.add(what, 0, seconds)
    try:
        return cache.incr(what) <= most
    except ValueError:
        # It ran out between the two.
        return True
