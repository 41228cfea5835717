"""A subscribable's schedule as the rules want it."""

from subscriptions.models import Subscribable
from subscriptions.rules.schedule import Schedule


def schedule_of(subscribable: Subscribable) -> Schedule:
    return Schedule(
        arrangement=subscribable.arrangement,
        at=subscribable.at,
        weekday=subscribable.weekday,
        day_of_month=subscribable.day_of_month,
        cron=subscribable.cron,
    )
