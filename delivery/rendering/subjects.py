"""What an issue is called: in the archive, in the subject (as upstream words it), and above the posts."""

import re
from datetime import date, timedelta

from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import get_language, gettext, ngettext

from common.refused import Refused
from common.text import one_line, shortened
from delivery.rendering.facts import IssueFacts
from delivery.rendering.languages import spoken

LONGEST_SUBJECT = 200
_LONGEST_NAME = 80
# What a pattern of a theme may hold, in braces.
PLACES = ("newsletter", "title", "count", "date")
_PLACE = re.compile(r"\{([^{}]*)\}")


class BadPattern(Refused):
    """A subject pattern that cannot be used. The message is a sentence that says what may stand in one."""


def title(facts: IssueFacts) -> str:
    """The name in the archive."""
    if _is_single(facts):
        return shortened(one_line(facts.entries[0].title), LONGEST_SUBJECT) or gettext("Untitled post")
    return _several(facts)


def subject_line(facts: IssueFacts) -> str:
    """One line of at most 200 characters: by the theme's pattern, else with the name in front."""
    name = shortened(one_line(facts.readers_name), _LONGEST_NAME)
    if facts.theme.subject:
        values = {
            "newsletter": name,
            "title": title(facts),
            "count": str(len(facts.entries)),
            "date": dateline(facts),
        }
        # One pass over the pattern: what a title has in braces is never looked at.
        filled = _PLACE.sub(lambda place: values.get(place[1], ""), facts.theme.subject)
        if by_pattern := shortened(one_line(filled), LONGEST_SUBJECT):
            return by_pattern
    if not _is_single(facts):
        subject = _several(facts)
    elif post := one_line(facts.entries[0].title):
        subject = gettext("New Post: %(title)s") % {"title": post}
    else:
        subject = gettext("New Untitled Post")
    return shortened(f"[{name}] {subject}", LONGEST_SUBJECT)


def marked_as_test(subject: str, language: str) -> str:
    """The subject of a letter that goes to its editor only, in the letter's language. Its holes stay."""
    with translation.override(spoken(language)):
        return gettext("Test: %(subject)s") % {"subject": subject}


def check_pattern(pattern: str) -> None:
    """Raises BadPattern unless all that stands in braces is one of PLACES."""
    names = _PLACE.findall(pattern)
    unknown = [name for name in names if name not in PLACES]
    there_are = ", ".join(f"{{{name}}}" for name in PLACES)
    if unknown:
        raise BadPattern(f"There is no {{{unknown[0]}}}. There are: {there_are}.")
    if re.search(r"[{}]", _PLACE.sub("", pattern)):
        raise BadPattern(f"A brace stands alone. In braces there may be: {there_are}.")


def dateline(facts: IssueFacts) -> str:
    """The day or days, in the newsletter's zone and language."""
    if facts.arrangement == "daily" and facts.period_start:
        first = last = facts.period_start.astimezone(facts.zone).date()
    elif facts.arrangement == "each":
        first = last = facts.now.astimezone(facts.zone).date()
    else:
        first, last = _days(facts)
    days = [date_format(day, "DATE_FORMAT") for day in (first, last)]
    return days[0] if first == last else f"{days[0]} – {days[1]}"


def _is_single(facts: IssueFacts) -> bool:
    return facts.arrangement == "each" and len(facts.entries) == 1


def _several(facts: IssueFacts) -> str:
    if facts.arrangement == "daily" and facts.period_start:
        day = facts.period_start.astimezone(facts.zone).date()
        return gettext("All posts, %(day)s") % {"day": _short(day)}
    if facts.arrangement in ("daily", "weekly", "monthly", "cron"):
        first, last = _days(facts)
        if first == last:
            return gettext("Posts from %(day)s") % {"day": _short(first)}
        return gettext("Posts, %(first)s to %(last)s") % {
            "first": _short(first),
            "last": _short(last),
        }
    count = len(facts.entries)
    return ngettext("%(count)d new item", "%(count)d new items", count) % {"count": count}


def _short(day: date) -> str:
    """As upstream writes it; other languages have their own way."""
    speaks_english = (get_language() or "en").startswith("en")
    return day.isoformat() if speaks_english else date_format(day, "SHORT_DATE_FORMAT")


def _days(facts: IssueFacts) -> tuple[date, date]:
    """The first and last day the posts are dated, never later than today; without dates, the period's."""
    dated = [min(entry.published, facts.now) for entry in facts.entries if entry.published]
    if not dated:
        # The end is the first instant of the next period.
        end = facts.period_end - timedelta(microseconds=1) if facts.period_end else facts.now
        dated = [min(facts.period_start or end, end), end]
    days = [moment.astimezone(facts.zone).date() for moment in dated]
    return min(days), max(days)
