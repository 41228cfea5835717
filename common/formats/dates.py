"""Dates for readers, with no-break spaces."""

import re
from datetime import date, datetime, time, timedelta

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils import timezone
from django.utils.formats import date_format, get_format
from django.utils.translation import get_language, gettext_noop, ngettext

MONTHS = (
    gettext_noop("January"),
    gettext_noop("February"),
    gettext_noop("March"),
    gettext_noop("April"),
    gettext_noop("May"),
    gettext_noop("June"),
    gettext_noop("July"),
    gettext_noop("August"),
    gettext_noop("September"),
    gettext_noop("October"),
    gettext_noop("November"),
    gettext_noop("December"),
)
WEEKDAYS = (
    gettext_noop("Monday"),
    gettext_noop("Tuesday"),
    gettext_noop("Wednesday"),
    gettext_noop("Thursday"),
    gettext_noop("Friday"),
    gettext_noop("Saturday"),
    gettext_noop("Sunday"),
)
# Django's formats have no ordinals.
FIRST_DAYS = {"fr": "1er", "pt-br": "1º"}

register = template.Library()


def speaks_english() -> bool:
    return (get_language() or "en").startswith("en")


def day_words(day: date) -> str:
    """Format as "5 March 2026" in British English."""
    return _whole(date_format(day, "DATE_FORMAT"))


def days_words(first: date, last: date) -> str:
    """Format as "5–7 March 2026" or "28 March – 3 April 2026", breakable after the dash only."""
    if first == last:
        return day_words(first)
    if (first.year, first.month) == (last.year, last.month):
        # One month for both days.
        for ending in (f"{last.day}.", str(last.day)):
            start = ending.replace(str(last.day), str(first.day))
            whole = day_words(last)
            found = re.search(rf"(?<!\d){re.escape(ending)}(?!\w)", whole)
            if found:
                return _whole(f"{whole[: found.start()]}{start}–{whole[found.start() :]}")
    days = [day_words(first), day_words(last)]
    if first.year == last.year:
        begins_with_year = str(get_format("DATE_FORMAT")).startswith(("Y", "y"))
        short = int(begins_with_year)
        days[short] = _whole(date_format((first, last)[short], "MONTH_DAY_FORMAT"))
    return f"{days[0]}\N{NO-BREAK SPACE}– {days[1]}"


@register.filter(expects_localtime=True)
def day(moment: date | datetime | None) -> str:
    return day_words(moment) if isinstance(moment, date) else ""


@register.filter(expects_localtime=True)
def iso(moment: datetime | None) -> str:
    """Format for `datetime`, without microseconds (WHATWG HTML §2.3.5.7)."""
    return moment.isoformat(timespec="seconds") if isinstance(moment, datetime) else ""


@register.filter(expects_localtime=True)
def ago(moment: datetime | None) -> str:
    """Format as "2 hours ago"; the day, if older than a week or in the future."""
    if not isinstance(moment, datetime):
        return ""
    age = timezone.now() - moment
    if not timedelta(0) <= age < timedelta(days=7):
        return day_words(moment)
    if days := age.days:
        return ngettext("%(number)s day ago", "%(number)s days ago", days) % {"number": days}
    return str(naturaltime(moment))


@register.filter(expects_localtime=True)
def full_time(moment: datetime | None) -> str:
    return f"{day_words(moment)}, {clock(moment)}" if isinstance(moment, datetime) else ""


@register.filter(expects_localtime=True)
def clock(at: time | datetime) -> str:
    """Format as "7:00" in English, and "07:00" in other languages."""
    return f"{at:%H:%M}".removeprefix("0") if speaks_english() else f"{at:%H:%M}"


def _whole(text: str) -> str:
    text = re.sub(r"^1(?=[ –])", FIRST_DAYS.get(get_language() or "", "1"), text)
    return text.replace(" ", "\N{NO-BREAK SPACE}")
