"""How far a worker is with what somebody uploaded: a panel that the page asks for again by itself."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

EVERY_SECONDS = 1
LONG_WAIT = timedelta(seconds=30)
NOT_ALIVE = "No worker has looked at it for a while. It goes on when one does."
BEGINS = "It begins in a moment."


def words_about_worker(row: Any, now: datetime) -> str:
    """That none comes, or that one will; empty while one is at it.

    A row waits from the end of its last lease on (common.db.leases.handed_on), or since it was made.
    """
    if now - (row.lease_until or row.created_at) > LONG_WAIT:
        return NOT_ALIVE
    return "" if row.lease_token else BEGINS


def work_progress(
    address: str,
    *,
    is_going: bool,
    percent: int,
    heading: str,
    lines: str,
    words: str,
    facts: Sequence[tuple[str, str]],
    trouble: str,
) -> SafeString:
    """The panel; `address` answers with it alone, and `lines` says how much there is to do in all."""
    context = {
        "address": address,
        "every": EVERY_SECONDS,
        "is_going": is_going,
        "percent": percent,
        "heading": heading,
        "lines": lines,
        "words": words,
        "facts": facts,
        "trouble": trouble,
    }
    return render_to_string("admin/work_progress.html", context)
