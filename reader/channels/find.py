import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import TextField, Value
from django.db.models.functions import Concat

from common.refused import Refused
from common.text import one_line
from feeds.adding.discover import Candidate, discover
from feeds.parsing.entry import Person
from feeds.polling.read import clean_entry
from reader.entries.search_index import entries_with
from reader.models import TimelineEntry
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.jf2 import post_jf2
from reader.rules.order import Paging
from reader.rules.search import Query, parse_query
from reader.timelines.pages import Page, Timeline, with_entries

PREVIEWED = 20
LONGEST_QUERY = 1_000
# Common words are found among the newest posts, rare ones by the index.
POSTS_LOOKED_THROUGH = 1_000
_WORD = re.compile(r"[\w-]{1,60}")


def find_feeds(query: str, *, now: datetime) -> Sequence[Candidate]:
    """Find feeds by address, domain, handle or word (network)."""
    query = one_line(query)[:LONGEST_QUERY]
    try:
        return discover(f"{query}.com" if _WORD.fullmatch(query) else query, now=now).candidates
    except ValidationError:
        return ()


def preview(url: str, *, now: datetime) -> tuple[Candidate, list[dict[str, Any]]]:
    """Return the best feed and its posts as jf2 (network). Raises Refused and ValidationError."""
    discovery = discover(url, now=now)
    best = discovery.only or discovery.best
    if best is None or best.looked.parsed is None:
        raise Refused(discovery.problem or "No feed was found at this address.", "url")
    parsed = best.looked.parsed
    site = Person(best.title, parsed.link or best.url, parsed.channel.image)
    posts = [
        post_jf2(clean_entry(entry, best.looked.base), feed=site, seen_at=now)
        for entry in parsed.entries[:PREVIEWED]
    ]
    return best, posts


def search_posts(timeline: Timeline, text: str, *, limit: int) -> Page:
    """Raises Refused if that takes too long."""
    query = parse_query(text)
    if not query.wanted and not query.unwanted:
        return Page((), frozenset(), Paging())
    rows = timeline.seen().order_by("-at", "-pk")
    newest = frozenset(rows.values_list("pk", flat=True)[:POSTS_LOOKED_THROUGH])
    matches = _matching(TimelineEntry.objects.filter(pk__any_of=newest), query, limit)
    if len(matches) < limit and len(newest) == POSTS_LOOKED_THROUGH:
        places = timeline.seen()
        if query.wanted:
            places = places.filter(entry__pk__any_of=frozenset(entries_with(query)))
        matches = _matching(places, query, limit)
    shown, unread = with_entries(matches)
    return Page(shown, unread, Paging())


def _matching(places: TimelineEntryQuerySet, query: Query, limit: int) -> list[int]:
    # Workers of the previous release store no blanks around texts.
    blank = Value(" ", TextField())
    lines = places.annotate(line=Concat(blank, "entry__text", blank))
    for term in query.wanted:
        lines = lines.filter(line__contains=term.part)
    for term in query.unwanted:
        lines = lines.exclude(line__contains=term.part)
    return list(lines.order_by("-at", "-pk").values_list("pk", flat=True)[:limit])
