"""How often a newsletter comes, in words."""

from zoneinfo import ZoneInfo

from django.template.defaultfilters import capfirst

from subscriptions.models import Subscribable
from subscriptions.rules.words import describe
from subscriptions.services.schedules import schedule_of


def rhythm(newsletter: Subscribable) -> str:
    """ "Every Monday at 7:00, New York time", to stand by itself."""
    zone = ZoneInfo(newsletter.time_zone)
    return str(capfirst(describe(schedule_of(newsletter), newsletter.n, zone)))
