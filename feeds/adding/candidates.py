"""What was found at an address, as it is offered: named, compared, warned about, ranked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

from common.text import shortened
from feeds.adding.probe import Looked
from feeds.addresses import same_address
from feeds.models import Feed
from feeds.parsing.discovery import format_of, is_comment_feed
from feeds.rules.facts import newest_first

LATEST = 5
LISTED_TITLE = 150
COMPARED_POSTS = 20
STALE = timedelta(days=365)

COMMENTS = "This feed brings what readers comment, not the posts."
EMPTY = "It has no posts at the moment."
NO_DATES = "Its posts have no dates, so the order in the feed decides which are the newest."

# A document, and what the page that led to it calls it.
Found = list[tuple[Looked, str]]


@dataclass(frozen=True, slots=True)
class CandidatePost:
    """A line of a candidate."""

    title: str
    published: datetime | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A feed that was found and read. `url` is where it is to be watched; `also` (format, address) the same
    posts elsewhere; `feed_id` the feed that watches it already. `looked` is the document, for a preview.
    """

    url: str
    title: str
    format: str
    posts: int
    latest: tuple[CandidatePost, ...]
    warnings: tuple[str, ...]
    is_comments: bool
    looked: Looked
    also: tuple[tuple[str, str], ...] = ()
    feed_id: int | None = None


def candidates_of(found: Found, now: datetime) -> tuple[Candidate, ...]:
    """The feeds found, each once, the best first. Asks the database which are watched already."""
    every = [_candidate(looked, title, now) for looked, title in found]
    ranked = sorted(_collapsed(every), key=lambda one: (one.is_comments, not one.posts, _is_stale(one, now)))
    watched = _watched(ranked)
    return tuple(replace(one, feed_id=watched.get(_key(one.url))) for one in ranked)


def _candidate(looked: Looked, title: str, now: datetime) -> Candidate:
    parsed = looked.parsed
    assert parsed is not None  # noqa: S101 - only feeds become candidates
    host = urlsplit(looked.url).hostname or looked.url
    latest = _latest(looked)
    is_comments = is_comment_feed(looked.url, parsed.title) or is_comment_feed(looked.base, title)
    return Candidate(
        url=looked.url,
        title=shortened(parsed.title or title or host, LISTED_TITLE),
        format=format_of(looked.body),
        posts=len(parsed.guids),
        latest=latest,
        warnings=tuple(_warnings(is_comments, latest, now)),
        is_comments=is_comments,
        looked=looked,
    )


def _latest(looked: Looked) -> tuple[CandidatePost, ...]:
    entries = {entry.guid: entry for entry in (looked.parsed.entries if looked.parsed else ())}
    dates = {guid: entry.published or entry.updated for guid, entry in entries.items()}
    order = newest_first(list(entries), dates)
    known = {guid: date for guid, date in dates.items() if date}
    if len(known) == len(order):
        order.sort(key=known.__getitem__, reverse=True)
    return tuple(
        CandidatePost(shortened(entries[guid].title or entries[guid].link or guid, LISTED_TITLE), dates[guid])
        for guid in order[:LATEST]
    )


def _warnings(is_comments: bool, latest: Sequence[CandidatePost], now: datetime) -> Iterable[str]:
    dates = [post.published for post in latest if post.published]
    if is_comments:
        yield COMMENTS
    if not latest:
        yield EMPTY
    elif not dates:
        yield NO_DATES
    elif now - max(dates) > STALE:
        yield f"Nothing new for a long time: its newest post is of {max(dates):%B %Y}."


def _is_stale(one: Candidate, now: datetime) -> bool:
    dates = [post.published for post in one.latest if post.published]
    return bool(dates) and now - max(dates) > STALE


def _collapsed(every: Sequence[Candidate]) -> list[Candidate]:
    """One for each set of posts: the same bytes or posts may be at several addresses and in two formats."""
    groups: list[list[Candidate]] = []
    for one in every:
        group = next((group for group in groups if _is_same(group[0], one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return [_merged(group) for group in groups]


def _is_same(one: Candidate, other: Candidate) -> bool:
    if one.looked.body == other.looked.body or _key(one.url) == _key(other.url):
        return True
    if one.title != other.title or one.is_comments != other.is_comments or not one.posts or not other.posts:
        return False
    return _posts_of(one) == _posts_of(other)


def _posts_of(one: Candidate) -> list[str]:
    entries = one.looked.parsed.entries if one.looked.parsed else ()
    return [entry.link or entry.guid for entry in entries[:COMPARED_POSTS]]


def _merged(group: list[Candidate]) -> Candidate:
    """The one that says the most, over https if it can be; the others are named if they differ in format."""
    best = max(group, key=lambda one: (_length(one), one.url.startswith("https:")))
    also = {one.format: one.url for one in reversed(group) if one.format != best.format}
    return replace(best, also=tuple(also.items()))


def _length(one: Candidate) -> int:
    """How much text its posts have, in steps, so that a few characters decide nothing."""
    entries = one.looked.parsed.entries if one.looked.parsed else ()
    return sum(len(entry.html) for entry in entries[:COMPARED_POSTS]).bit_length()


def _watched(candidates: Sequence[Candidate]) -> dict[str, int]:
    """The feeds that watch one of these addresses already, over http or https."""
    places = {place for one in candidates for url in (one.url, one.looked.base) for place in _variants(url)}
    rows = Feed.objects.filter(url__in=places, dropping=False).order_by("-pk").values_list("url", "pk")
    known = {_key(url): pk for url, pk in rows}
    return {_key(one.url): known[place] for one in candidates if (place := _place(one, known))}


def _place(one: Candidate, known: Mapping[str, int]) -> str:
    return next((key for key in (_key(one.url), _key(one.looked.base)) if key in known), "")


def _variants(url: str) -> tuple[str, ...]:
    parts = urlsplit(url)
    return tuple(urlunsplit((scheme, *parts[1:])) for scheme in ("http", "https"))


def _key(url: str) -> str:
    """The same for http and https, and with or without www."""
    return same_address(url).removeprefix("www.")
