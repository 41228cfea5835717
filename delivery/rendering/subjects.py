"""Titles and subjects of issues."""

import re
from collections.abc import Sequence
from datetime import date, timedelta

from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import get_language, gettext, ngettext

from channels.announcement import beginning
from channels.languages import dated_in, speaks, spoken
from common.formats.dates import days_words
from common.refused import Refused
from common.text import one_line, shortened
from common.truncation import cut_to
from delivery.rendering.facts import IssueFacts
from feeds.parsing.entry import Entry

LONGEST_SUBJECT = 200
_LONGEST_NAME = 80
# A longer title would hide the count of the others.
_LONGEST_FIRST = 100
# No comma follows these.
_ENDS = tuple("?!…,;:؟！？。")
# Allowed in braces in a theme's pattern.
PATTERN_NAMES = ("newsletter", "title", "first", "count", "date", "upstream")
_PLACE = re.compile(r"\{([^{}]*)\}")


class BadPattern(Refused):
    """The message lists the allowed names."""


def title(entries: Sequence[Entry], language: str) -> str:
    """Return the title of the only post, or of the first with the number of others."""
    with translation.override(spoken(language)):
        others = len(entries) - 1
        if not others:
            return post_title(entries[0])
        first = post_title(entries[0], longest=_LONGEST_FIRST)
        if first.endswith(".") and first.split()[-1].count(".") == 1:
            # "It rained." becomes "It rained, and …"; "the U.S." keeps its full stop.
            first = first[:-1]
        if not speaks(language):
            return f"{first} + {others}"
        words = {"first": first, "count": others}
        made = ngettext("%(first)s, and %(count)d more", "%(first)s, and %(count)d more", others) % words
        return made.replace(f"{first},", first, 1) if first.endswith(_ENDS) else made


def post_title(entry: Entry, *, longest: int = LONGEST_SUBJECT) -> str:
    return cut_to(one_line(entry.title), longest) or beginning(entry) or gettext("Untitled post")


def subject_line(facts: IssueFacts) -> str:
    """Return one line of at most 200 characters: the title, or the theme's pattern."""
    usual = title(facts.entries, facts.language)
    if not facts.theme.subject:
        return usual
    values = {
        "newsletter": shortened(one_line(facts.readers_name), _LONGEST_NAME),
        "title": usual,
        "first": post_title(facts.entries[0]),
        "count": str(len(facts.entries)),
        "date": dateline(facts),
        "upstream": _upstream(facts),
    }
    # One pass: braces in a title are not replaced.
    filled = _PLACE.sub(lambda place: values.get(place[1], ""), facts.theme.subject)
    return cut_to(one_line(filled), LONGEST_SUBJECT) or usual


def marked_as_test(subject: str, language: str) -> str:
    """Mark a test letter's subject in the letter's language. Keeps placeholders."""
    with translation.override(spoken(language)):
        return gettext("Test: %(subject)s") % {"subject": subject}


def check_pattern(pattern: str) -> None:
    """Raise BadPattern unless all names in braces are PATTERN_NAMES."""
    names = _PLACE.findall(pattern)
    unknown = [name for name in names if name not in PATTERN_NAMES]
    there_are = ", ".join(f"{{{name}}}" for name in PATTERN_NAMES)
    if unknown:
        raise BadPattern(f"There is no {{{unknown[0]}}}. There are: {there_are}.")
    if re.search(r"[{}]", _PLACE.sub("", pattern)):
        raise BadPattern(f"A brace has no partner. These names can be in braces: {there_are}.")


def dateline(facts: IssueFacts) -> str:
    """Return the day or days, in the newsletter's zone and language; "" if it is undated."""
    if not facts.is_dated:
        return ""
    if facts.arrangement == "daily" and facts.period_start:
        first = last = facts.period_start.astimezone(facts.zone).date()
    elif facts.arrangement == "each":
        first = last = facts.now.astimezone(facts.zone).date()
    else:
        first, last = _days(facts)
    with translation.override(dated_in(facts.language, facts.time_zone)):
        return days_words(first, last)


def _upstream(facts: IssueFacts) -> str:
    """Return the Scala feedletter's subject, dates included: readers may filter by it."""
    name = shortened(one_line(facts.readers_name), _LONGEST_NAME)
    count = len(facts.entries)
    if facts.arrangement == "each" and count == 1:
        post = one_line(facts.entries[0].title)
        subject = gettext("New Post: %(title)s") % {"title": post} if post else gettext("New Untitled Post")
    elif facts.arrangement == "daily" and facts.period_start:
        day = facts.period_start.astimezone(facts.zone).date()
        subject = gettext("All posts, %(day)s") % {"day": _short(day)}
    elif facts.arrangement in ("daily", "weekly", "monthly", "cron"):
        first, last = map(_short, _days(facts))
        if first == last:
            subject = gettext("Posts from %(day)s") % {"day": first}
        else:
            subject = gettext("Posts, %(first)s to %(last)s") % {"first": first, "last": last}
    else:
        subject = ngettext("%(count)d new item", "%(count)d new items", count) % {"count": count}
    return f"[{name}] {subject}"


def _short(day: date) -> str:
    """Return upstream's format in English, the language's own otherwise."""
    speaks_english = (get_language() or "en").startswith("en")
    return day.isoformat() if speaks_english else date_format(day, "SHORT_DATE_FORMAT")


def _days(facts: IssueFacts) -> tuple[date, date]:
    """Return the posts' first and last day, up to today; without dates, the period's."""
    dated = [min(entry.published, facts.now) for entry in facts.entries if entry.published]
    if not dated:
        # The end is the first instant of the next period.
        end = facts.period_end - timedelta(microseconds=1) if facts.period_end else facts.now
        dated = [min(facts.period_start or end, end), end]
    days = [moment.astimezone(facts.zone).date() for moment in dated]
    return min(days), max(days)
