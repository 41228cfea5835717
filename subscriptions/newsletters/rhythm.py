"""Rhythm in the reader's language."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext, gettext_noop, ngettext, pgettext, pgettext_lazy

from common.clock import offset_words, place_of, utcnow
from common.formats.dates import clock, speaks_english
from subscriptions.models import Subscribable
from subscriptions.rules.schedule import (
    LAST_DAY,
    MONDAY_TO_FRIDAY,
    CronPlan,
    Schedule,
    cron_plan,
    explained,
    next_ends,
)

# Whole sentences, as days have a gender in some languages.
WEEKLY = (
    gettext_noop("Every Monday at %(time)s, %(zone)s"),
    gettext_noop("Every Tuesday at %(time)s, %(zone)s"),
    gettext_noop("Every Wednesday at %(time)s, %(zone)s"),
    gettext_noop("Every Thursday at %(time)s, %(zone)s"),
    gettext_noop("Every Friday at %(time)s, %(zone)s"),
    gettext_noop("Every Saturday at %(time)s, %(zone)s"),
    gettext_noop("Every Sunday at %(time)s, %(zone)s"),
)

SEVERAL_DAYS = (
    # Translators: one of several days, as in "Every Monday and Thursday".
    pgettext_lazy("one of several days", "Monday"),
    pgettext_lazy("one of several days", "Tuesday"),
    pgettext_lazy("one of several days", "Wednesday"),
    pgettext_lazy("one of several days", "Thursday"),
    pgettext_lazy("one of several days", "Friday"),
    pgettext_lazy("one of several days", "Saturday"),
    pgettext_lazy("one of several days", "Sunday"),
)

# Cities of time zones that some languages write differently.
PLACES = (
    gettext_noop("Amsterdam"),
    gettext_noop("Athens"),
    gettext_noop("Belgrade"),
    gettext_noop("Berlin"),
    gettext_noop("Bogota"),
    gettext_noop("Brussels"),
    gettext_noop("Bucharest"),
    gettext_noop("Budapest"),
    gettext_noop("Cairo"),
    gettext_noop("Copenhagen"),
    gettext_noop("Dublin"),
    gettext_noop("Helsinki"),
    gettext_noop("Istanbul"),
    gettext_noop("Jerusalem"),
    gettext_noop("Johannesburg"),
    gettext_noop("Lisbon"),
    gettext_noop("London"),
    gettext_noop("Luxembourg"),
    gettext_noop("Madrid"),
    gettext_noop("Mexico City"),
    gettext_noop("Moscow"),
    gettext_noop("New York"),
    gettext_noop("Paris"),
    gettext_noop("Prague"),
    gettext_noop("Rome"),
    gettext_noop("Sao Paulo"),
    gettext_noop("Singapore"),
    gettext_noop("Stockholm"),
    gettext_noop("Tokyo"),
    gettext_noop("Vienna"),
    gettext_noop("Warsaw"),
    gettext_noop("Zurich"),
)


def rhythm(newsletter: Subscribable) -> str:
    """Return "Every Monday at 7:00, New York time"."""
    return in_words(newsletter.schedule, newsletter.n, newsletter.zone)


def with_rhythms(newsletters: Iterable[Subscribable]) -> list[dict[str, Any]]:
    return [{"newsletter": each, "rhythm": rhythm(each)} for each in newsletters]


def next_letter(newsletter: Subscribable) -> datetime | None:
    """Return None without a calendar."""
    ends = next_ends(newsletter.schedule, newsletter.zone, utcnow(), 1)
    return ends[0].astimezone(newsletter.zone) if ends and not newsletter.stopped else None


def in_words(schedule: Schedule, n: int | None, zone: ZoneInfo) -> str:
    at = {"time": clock(schedule.at), "zone": zone_in_words(zone)}
    match schedule.arrangement:
        case "daily":
            return gettext("Every day at %(time)s, %(zone)s") % at
        case "weekly":
            return gettext(WEEKLY[schedule.weekday]) % at
        case "monthly":
            return _monthly_words(schedule.day_of_month, at)
        case "cron":
            plan = cron_plan(schedule.cron)
            return _plan_words(plan, at["zone"]) if plan else _line_words(schedule.cron, at["zone"])
        case "every_n" if n is not None and n > 1:
            return ngettext("Every %(n)s post", "Every %(n)s posts", n) % {"n": n}
    return gettext("Each post as it appears")


def _plan_words(plan: CronPlan, zone: str) -> str:
    at = {"time": _joined(clock(each) for each in plan.times), "zone": zone}
    if plan.weekdays == MONDAY_TO_FRIDAY:
        return gettext("Every day from Monday to Friday at %(time)s, %(zone)s") % at
    if len(plan.weekdays) == 1:
        return gettext(WEEKLY[plan.weekdays[0]]) % at
    if plan.weekdays:
        # Translators: %(names)s is a list such as "Monday and Thursday".
        sentence = gettext("Every %(names)s at %(time)s, %(zone)s")
        return sentence % {**at, "names": _joined(str(SEVERAL_DAYS[day]) for day in plan.weekdays)}
    if len(plan.days_of_month) == 1:
        return _monthly_words(plan.days_of_month[0], at)
    if plan.days_of_month:
        # Translators: %(names)s is a list of days of the month: "1st, 15th and last day".
        sentence = gettext("On the %(names)s of each month at %(time)s, %(zone)s")
        return sentence % {**at, "names": _joined(_one_of_days(day) for day in plan.days_of_month)}
    return gettext("Every day at %(time)s, %(zone)s") % at


def _line_words(line: str, zone: str) -> str:
    """Describe it in English by the cron library."""
    sentence = explained(line) if speaks_english() else ""
    return f"{sentence}, {zone}" if sentence else gettext("On its own schedule")


def _monthly_words(day: int, at: dict[str, str]) -> str:
    if day == LAST_DAY:
        return gettext("On the last day of each month at %(time)s, %(zone)s") % at
    if day == 1:
        return gettext("On the 1st of each month at %(time)s, %(zone)s") % at
    at = {**at, "day": ordinal(day) if speaks_english() else str(day)}
    if day > 28:
        return gettext("On the %(day)s of each month (or its last day) at %(time)s, %(zone)s") % at
    # Translators: the day is "1st" or "22nd" in English, and the bare number in all other languages.
    return gettext("On the %(day)s of each month at %(time)s, %(zone)s") % at


def _one_of_days(day: int) -> str:
    if day == LAST_DAY:
        return pgettext("one of several days", "last day")
    if day == 1:
        return pgettext("one of several days", "1st")
    # Translators: the day is "15th" in English, and the bare number in all other languages.
    name = pgettext("one of several days", "%(day)s")
    return name % {"day": ordinal(day) if speaks_english() else day}


def _joined(words: Iterable[str]) -> str:
    *most, last = words
    return gettext("%(first)s and %(last)s") % {"first": ", ".join(most), "last": last} if most else last


def zone_in_words(zone: ZoneInfo) -> str:
    """Return "New York time" or "UTC+3"."""
    place = place_of(zone)
    # Translators: the place is a city, such as "New York".
    return gettext("%(place)s time") % {"place": gettext(place)} if place else offset_words(zone)


def ordinal(day: int) -> str:
    suffix = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"
