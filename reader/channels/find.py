"""Looking for feeds, looking into one before it is followed, and searching one's own posts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError

from common.refused import Refused
from common.text import one_line, words
from feeds.adding.candidates import Candidate
from feeds.adding.discover import Discovery, discover
from feeds.parsing.entry import Person
from feeds.polling.read import clean_entry
from reader.models import Place
from reader.rules.jf2 import post_jf2
from reader.rules.order import Paging
from reader.timelines.pages import Page, Timeline, with_entries

PREVIEWED = 20
MOST_WORDS = 10
LONGEST_QUERY = 1_000
_WORD = re.compile(r"[\w-]{1,60}")


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """What clients show of a feed."""

    url: str
    name: str
    photo: str = ""
    description: str = ""


def find_feeds(query: str, *, now: datetime) -> list[FoundFeed]:
    """The feeds behind an address, a domain, a handle or one word. Asks the network. Nothing found is []."""
    query = one_line(query)[:LONGEST_QUERY]
    try:
        found = _discovered(f"{query}.com" if _WORD.fullmatch(query) else query, now)
    except Refused:
        return []
    return [_found_feed(one) for one in found.candidates]


def preview(url: str, *, now: datetime) -> tuple[FoundFeed, list[dict[str, Any]]]:
    """The best feed behind an address and its newest posts as jf2. Raises Refused."""
    found = _discovered(url, now)
    best = found.only or found.best
    if best is None or best.looked.parsed is None:
        raise Refused(found.problem or "There is no feed at this address.", "url")
    feed, parsed = _found_feed(best), best.looked.parsed
    site = Person(feed.name, parsed.link or feed.url, feed.photo)
    posts = [
        post_jf2(clean_entry(entry, best.looked.base), feed=site, seen_at=now)
        for entry in parsed.entries[:PREVIEWED]
    ]
    return feed, posts


def search_posts(timeline: Timeline, query: str, *, limit: int) -> Page:
    """The newest posts of the timeline that have every word. Hidden ones are not found."""
    wanted = sorted(words(query.casefold()))[:MOST_WORDS]
    places = Place.objects.seen().filter(**timeline.owner)
    for word in wanted:
        places = places.filter(entry__text__contains=word)
    found: Sequence[int] = list(places.order_by("-at", "-pk").values_list("pk", flat=True)[:limit])
    shown, unread = with_entries(found if wanted else [])
    return Page(shown, unread, Paging())


def _discovered(url: str, now: datetime) -> Discovery:
    try:
        return discover(url, now=now)
    except ValidationError as error:
        raise Refused(" ".join(error.messages), "url") from error


def _found_feed(one: Candidate) -> FoundFeed:
    parsed = one.looked.parsed
    photo = parsed.channel.image if parsed else ""
    return FoundFeed(one.url, one.title, photo, parsed.description if parsed else "")
