"""The name of a collection within its newsletter: it is issued at most once under each."""

import re
from collections.abc import Collection

from subscriptions.rules.periods import Period, instant_id

_RESENT = re.compile(r"\+([0-9]+)\Z")
_NUMBERED = re.compile(r"#([0-9]+)(?:\+|\Z)")


def within_type_id_for(
    arrangement: str, *, item_id: int | None = None, period: Period | None = None, counter: int | None = None
) -> str:
    """The within_type_id: the item's key for each, the counter for every n, else the period's start.

    Raises ValueError when what the arrangement needs is missing.
    """
    if arrangement == "each" and item_id is not None:
        return str(item_id)
    if arrangement == "every_n" and counter is not None:
        # The sign keeps it apart from an item's key, for a newsletter that was "each" before.
        return f"#{counter}"
    if arrangement not in ("each", "every_n") and period is not None:
        return instant_id(period.start)
    raise ValueError(f"Nothing to name a collection of the arrangement {arrangement} by.")


def number_of(wti: str) -> int | None:
    """The number of an every-n collection; None for one of another sort."""
    found = _NUMBERED.match(wti)
    return int(found[1]) if found else None


def resend_wti(wti: str, taken: Collection[str]) -> str:
    """The name for sending a collection again on purpose: "+2", then "+3" after the highest taken."""
    base = _RESENT.sub("", wti)
    highest = max((_number(other) for other in taken if _RESENT.sub("", other) == base), default=1)
    return f"{base}+{highest + 1}"


def _number(wti: str) -> int:
    found = _RESENT.search(wti)
    return int(found[1]) if found else 1
