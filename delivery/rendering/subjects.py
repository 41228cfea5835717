"""What an issue is called: in the archive, in the subject, and above the posts."""

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
# A longer title would hide how many there are besides; a text has no need to be a title's length.
_LONGEST_FIRST = 100
# After these comes no comma.
_ENDS = tuple("?!…,;:؟！？。")
# What a pattern of a theme may hold, in braces.
PATTERN_NAMES = ("newsletter", "title", "first", "count", "date", "upstream")
_PLACE = re.compile(r"\{([^{}]*)\}")


class BadPattern(Refused):
    """A subject pattern that cannot be used. The message is a sentence that says what may stand in one."""


def title(entries: Sequence[Entry], language: str) -> str:
    """The name in the archive: that of its only post, or of the first with how many there are besides."""
    with translation.override(spoken(language)):
        others = len(entries) - 1
        if not others:
            return post_title(entries[0])
        first = post_title(entries[0], longest=_LONGEST_FIRST)
        if first.endswith(".") and first.split()[-1].count(".") == 1:
            # "It rained." goes on with a comma as "It rained"; "the U.S." stays.
            first = first[:-1]
        if not speaks(language):
            return f"{first} + {others}"
        words = {"first": first, "count": others}
        made = ngettext("%(first)s, and %(count)d more", "%(first)s, and %(count)d more", others) % words
        return made.replace(f"{first},", first, 1) if first.endswith(_ENDS) else made


def post_title(entry: Entry, *, longest: int = LONGEST_SUBJECT) -> str:
    """Its title in one line, cut at a word; the beginning of its text where it has none."""
    return cut_to(one_line(entry.title), longest) or beginning(entry) or gettext("Untitled post")


def subject_line(facts: IssueFacts) -> str:
    """One line of at most 200 characters: the issue's title, or what the theme's pattern makes."""
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
    # One pass over the pattern: what a title has in braces is never looked at.
    filled = _PLACE.sub(lambda place: values.get(place[1], ""), facts.theme.subject)
    return cut_to(one_line(filled), LONGEST_SUBJECT) or usual


def marked_as_test(subject: str, language: str) -> str:
    """The subject of a letter that goes to its editor only, in the letter's language. Its holes stay."""
    with translation.override(spoken(language)):
        return gettext("Test: %(subject)s") % {"subject": subject}


def check_pattern(pattern: str) -> None:
    """Raises BadPattern unless all that stands in braces is one of PATTERN_NAMES."""
    names = _PLACE.findall(pattern)
    unknown = [name for name in names if name not in PATTERN_NAMES]
    there_are = ", ".join(f"{{{name}}}" for name in PATTERN_NAMES)
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
    with translation.override(dated_in(facts.language)):
        return days_words(first, last)


def _upstream(facts: IssueFacts) -> str:
    """As the Scala feedletter words it, with its dates: readers may have rules in their mail programs."""
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
