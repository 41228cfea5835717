"""Takes over what another program had. Again, it adds what is missing, and overwrites nothing."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from feedletter_site.arrivals.origins import Origins
from feedletter_site.arrivals.report import Report
from feedletter_site.arrivals.source import Source


def take_over(
    source: Source,
    place: Path,
    *,
    is_dry_run: bool,
    now: datetime,
    told: Callable[[int, int], object] = lambda done, of: None,
) -> Report:
    """Reads the source at `place`, and takes each of its parts; a dry run only says what would be done.

    `told` hears after each part how many are done, of how many. Raises Refused.
    """
    plan, origins = source.read(place, now=now), Origins(source.key)
    report = Report(source.key, is_dry_run, list(plan.refused), plan.notes)
    if plan.parts and not is_dry_run:
        source.prepare(now=now)
    for number, part in enumerate(plan.parts, 1):
        report.add(part.foresee(origins) if is_dry_run else part.take(origins, now=now))
        told(number, len(plan.parts))
    return report
