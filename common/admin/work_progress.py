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
    """Say whether a worker is expected; "" while one works.

    A row waits from the end of its last lease (common.db.leases.handed_on).
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
    """`address` returns only this panel; `lines` is the total."""
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
