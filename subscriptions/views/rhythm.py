"""How often a newsletter comes, in the reader's words. Admins read those of `subscriptions.rules.words`."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils import translation
from django.utils.translation import gettext, gettext_noop, ngettext

from common.clock import utcnow
from subscriptions.models import Subscribable
from subscriptions.rules.periods import next_ends
from subscriptions.rules.schedule import Schedule
from subscriptions.rules.words import clock_words, offset_words, ordinal, place_of

# Whole sentences: days have a gender in some languages.
WEEKLY = (
    gettext_noop("Every Monday at %(time)s, %(zone)s"),
    gettext_noop("Every Tuesday at %(time)s, %(zone)s"),
    gettext_noop("Every Wednesday at %(time)s, %(zone)s"),
    gettext_noop("Every Thursday at %(time)s, %(zone)s"),
    gettext_noop("Every Friday at %(time)s, %(zone)s"),
    gettext_noop("Every Saturday at %(time)s, %(zone)s"),
    gettext_noop("Every Sunday at %(time)s, %(zone)s"),
)


def rhythm(newsletter: Subscribable) -> str:
    """ "Every Monday at 7:00, New York time", to stand by itself."""
    return in_words(newsletter.schedule, newsletter.n, newsletter.zone)


def next_letter(newsletter: Subscribable) -> datetime | None:
    """When the next letter comes, on the newsletter's clock; None where posts decide and no calendar."""
    ends = next_ends(newsletter.schedule, newsletter.zone, utcnow(), 1)
    return ends[0].astimezone(newsletter.zone) if ends and not newsletter.stopped else None


def in_words(schedule: Schedule, n: int | None, zone: ZoneInfo) -> str:
    """The same of a schedule."""
    at = {"time": clock_words(schedule.at), "zone": zone_in_words(zone)}
    match schedule.arrangement:
        case "daily":
            return gettext("Every day at %(time)s, %(zone)s") % at
        case "weekly":
            return gettext(WEEKLY[schedule.weekday]) % at
        case "monthly":
            day = schedule.day_of_month
            if day == 31:
                return gettext("On the last day of each month at %(time)s, %(zone)s") % at
            if day == 1:
                return gettext("On the 1st of each month at %(time)s, %(zone)s") % at
            speaks_english = (translation.get_language() or "en").startswith("en")
            at["day"] = ordinal(day) if speaks_english else str(day)
            if day > 28:
                return gettext("On the %(day)s of each month (or its last day) at %(time)s, %(zone)s") % at
            # Translators: the day is "1st" or "22nd" in English, and the bare number in all other languages.
            return gettext("On the %(day)s of each month at %(time)s, %(zone)s") % at
        case "cron":
            return gettext("On its own schedule")
        case "every_n" if n is not None and n > 1:
            return ngettext("Every %(n)s post", "Every %(n)s posts", n) % {"n": n}
    return gettext("Each post as it appears")


def zone_in_words(zone: ZoneInfo) -> str:
    """ "New York time", "UTC+3"."""
    place = place_of(zone)
    return gettext("%(place)s time") % {"place": place} if place else offset_words(zone)
