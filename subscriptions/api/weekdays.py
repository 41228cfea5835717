"""Days by their names, as in commands: the same number would be Monday here and Sunday in cron."""

from subscriptions.models import Subscribable

WEEKDAY_NAMES = tuple(label.lower() for label in Subscribable.Weekday.labels)
