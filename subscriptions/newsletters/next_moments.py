"""When newsletters go out next."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Min

from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.periods import next_ends


def next_moments(newsletters: Sequence[Subscribable], *, now: datetime) -> dict[int, datetime | None]:
    """The end of what is being collected, else of the period that is open; None for those without a calendar.

    One question for all of them. One that takes no new posts sends only what is being collected.
    """
    rows = Assignable.objects.filter(subscribable__in=newsletters, period_end__isnull=False).order_by()
    open_ends = dict(rows.values_list("subscribable").annotate(Min("period_end")))
    found: dict[int, datetime | None] = {}
    for each in newsletters:
        ends = [] if each.stopped else next_ends(each.schedule, each.zone, now, 1)
        found[each.pk] = open_ends.get(each.pk) or next(iter(ends), None)
    return found
