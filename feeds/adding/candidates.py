from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

from common.text import shortened
from feeds.adding.probe import Looked
from feeds.addresses import same_address
from feeds.models import Feed
from feeds.parsing.discovery import format_of, is_comment_feed
from feeds.parsing.entry import Entry
from feeds.rules.facts import newest_first

LATEST_POSTS = 5
LISTED_TITLE = 150
COMPARED_POSTS = 20
STALE = timedelta(days=365)

COMMENTS = "This feed brings what readers comment, not the posts."
NO_POSTS = "It has no posts at the moment."
NO_DATES = "Its posts have no dates, so the order in the feed decides which are the newest."

# Document, and its title in the page.
Found = list[tuple[Looked, str]]


@dataclass(frozen=True, slots=True)
class CandidatePost:
    title: str
    published: datetime | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """`url`: the address to watch; `feed_id`: the feed that watches it.

    `also`: (format, address) of the same posts.
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
    every = _collapsed([_candidate(looked, title, now) for looked, title in found])
    stale = {one.url for one in every if (newest := _newest(one.latest)) and now - newest > STALE}
    ranked = sorted(every, key=lambda one: (one.is_comments, not one.posts, one.url in stale))
    addresses = {url for one in ranked for url in (one.url, one.looked.base)}
    places = [urlunsplit((scheme, *urlsplit(url)[1:])) for url in addresses for scheme in ("http", "https")]
    rows = Feed.objects.filter(url__in=places, dropping=False).order_by("-pk").values_list("url", "pk")
    known = {_key(url): pk for url, pk in rows}
    return tuple(
        replace(one, feed_id=known.get(_key(one.url), known.get(_key(one.looked.base)))) for one in ranked
    )


def _candidate(looked: Looked, title: str, now: datetime) -> Candidate:
    parsed = looked.parsed
    assert parsed is not None  # noqa: S101 - only feeds become candidates
    host = urlsplit(looked.url).hostname or looked.url
    entries = {entry.guid: entry for entry in parsed.entries}
    dates = {guid: entry.published or entry.updated for guid, entry in entries.items()}
    order = newest_first(list(entries), dates)
    known = {guid: date for guid, date in dates.items() if date}
    if len(known) == len(order):
        order.sort(key=known.__getitem__, reverse=True)
    latest = tuple(
        CandidatePost(shortened(entries[guid].title or entries[guid].link or guid, LISTED_TITLE), dates[guid])
        for guid in order[:LATEST_POSTS]
    )
    is_comments = is_comment_feed(looked.url, parsed.title) or is_comment_feed(looked.base, title)
    warnings = [COMMENTS] if is_comments else []
    newest = _newest(latest)
    if not latest:
        warnings.append(NO_POSTS)
    elif newest is None:
        warnings.append(NO_DATES)
    elif now - newest > STALE:
        warnings.append(f"Nothing new for a long time: its newest post is of {newest:%B %Y}.")
    return Candidate(
        url=looked.url,
        title=shortened(parsed.title or title or host, LISTED_TITLE),
        format=format_of(looked.body),
        posts=len(parsed.guids),
        latest=latest,
        warnings=tuple(warnings),
        is_comments=is_comments,
        looked=looked,
    )


def _newest(latest: Iterable[CandidatePost]) -> datetime | None:
    return max((post.published for post in latest if post.published), default=None)


def _collapsed(every: Sequence[Candidate]) -> list[Candidate]:
    groups: list[list[Candidate]] = []
    for one in every:
        group = next((group for group in groups if _is_same(group[0], one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    collapsed = []
    for group in groups:
        # Most text, in powers of two so that a few characters do not matter; then https.
        best = max(
            group,
            key=lambda one: (
                sum(len(entry.html) for entry in _compared(one)).bit_length(),
                one.url.startswith("https:"),
            ),
        )
        also = {one.format: one.url for one in reversed(group) if one.format != best.format}
        collapsed.append(replace(best, also=tuple(also.items())))
    return collapsed


def _is_same(one: Candidate, other: Candidate) -> bool:
    if one.looked.body == other.looked.body or _key(one.url) == _key(other.url):
        return True
    if one.title != other.title or one.is_comments != other.is_comments or not one.posts or not other.posts:
        return False
    posts, others = ([entry.link or entry.guid for entry in _compared(each)] for each in (one, other))
    return posts == others


def _compared(one: Candidate) -> tuple[Entry, ...]:
    return one.looked.parsed.entries[:COMPARED_POSTS] if one.looked.parsed else ()


def _key(url: str) -> str:
    return same_address(url).removeprefix("www.")
