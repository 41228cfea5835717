"""Whether posts that were sent have been corrected or withdrawn.

Deleting a post elsewhere cannot be undone, so a withdrawal needs more evidence than before sending.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from feeds.rules.facts import Delays, Document
from feeds.rules.finality import CACHED_FOR, MINUTE, at_first_sight

CORRECTED, WITHDRAWN = "corrected", "withdrawn"
# Other texts have counters or are unfinished.
MOST_CORRECTIONS = 10
# One may be pinned.
LEAST_OLDER = 2
# If more than one in four left the middle, the feed shows others.
SHARE_GONE = 4


@dataclass(frozen=True, slots=True)
class TrackedPost:
    """`id`: digest of the guid; `link`: its hash."""

    pk: int
    id: str
    until: datetime
    content_hash: str
    link: str = ""
    published: datetime | None = None
    seen_hash: str = ""
    seen_since: datetime | None = None
    missing_since: datetime | None = None
    corrections: int = 0
    news: str = ""


def after_document(
    posts: Iterable[TrackedPost],
    document: Document,
    *,
    previous: Sequence[str],
    delays: Delays,
    moment: datetime,
    came_back: Collection[str] = (),
    partial: bool = False,
) -> list[TrackedPost]:
    """Return the posts that a document changes.

    `previous`: the last order, newest first. `came_back`: ids with another id here. A `partial` document was
    pushed: it may be outdated, and missing posts mean nothing.
    """
    there = {*document.order, *came_back}
    links = {entry.link for entry in document.entries.values() if entry.link}
    dates = _dates_of_stayed(document, there, previous)
    known_before = set(previous)
    changed = []
    for post in posts:
        entry = document.entries.get(post.id)
        if entry is not None:
            after = _read(_present(post), entry.content_hash, delays, moment, settles=not partial)
        elif post.id in there or (post.link and post.link in links):
            after = _present(post)
        elif partial or post.news == WITHDRAWN:
            after = post
        else:
            after = _not_there(post, dates, moment, was_there=post.id in known_before)
        if after != post:
            changed.append(after)
    return changed


def after_unchanged(posts: Iterable[TrackedPost], *, delays: Delays, moment: datetime) -> list[TrackedPost]:
    changed = []
    for post in posts:
        if post.missing_since is not None:
            after = _missing_still(post, moment)
        else:
            after = _told(post, delays, moment) if post.seen_hash else post
        if after != post:
            changed.append(after)
    return changed


def _present(post: TrackedPost) -> TrackedPost:
    news = "" if post.news == WITHDRAWN else post.news
    return replace(post, missing_since=None, news=news) if post.missing_since else post


def _read(
    post: TrackedPost, content_hash: str, delays: Delays, moment: datetime, *, settles: bool
) -> TrackedPost:
    if content_hash == post.content_hash:
        return replace(post, seen_hash="", seen_since=None, news="") if post.seen_hash else post
    if content_hash != post.seen_hash:
        if moment > post.until or post.corrections >= MOST_CORRECTIONS:
            return post
        # Unprocessed news is outdated.
        post = replace(post, seen_hash=content_hash, seen_since=moment, news="")
    return _told(post, delays, moment) if settles else post


def _told(post: TrackedPost, delays: Delays, moment: datetime) -> TrackedPost:
    """Whole minutes, strictly more."""
    stable = moment - (post.seen_since or moment)
    if at_first_sight(delays) or stable // MINUTE > delays.await_stabilization_minutes:
        return replace(post, news=CORRECTED)
    return post


def _dates_of_stayed(document: Document, there: Collection[str], previous: Sequence[str]) -> list[datetime]:
    """Return dates of posts in both documents, if they prove anything."""
    order, dates = document.newest_first(), document.published
    in_full = [dates.get(id_) for id_ in order if id_ in document.entries]
    known = [date for date in in_full if date is not None]
    if len(known) < len(in_full) or any(earlier < later for earlier, later in pairwise(known)):
        return []
    places = {id_: number for number, id_ in enumerate(previous)}
    last = max((number for id_, number in places.items() if id_ in there), default=-1)
    gone = sum(id_ not in there and number < last for id_, number in places.items())
    if gone > max(1, len(previous) // SHARE_GONE):
        return []
    return [date for id_ in order if id_ in places and (date := dates.get(id_)) is not None]


def _not_there(
    post: TrackedPost, dates: Sequence[datetime], moment: datetime, *, was_there: bool
) -> TrackedPost:
    published = post.published
    is_missing = published is not None and sum(date <= published for date in dates) >= LEAST_OLDER
    if not is_missing:
        return replace(post, missing_since=None)
    if post.missing_since is not None:
        return _missing_still(post, moment)
    return replace(post, missing_since=moment) if was_there and moment <= post.until else post


def _missing_still(post: TrackedPost, moment: datetime) -> TrackedPost:
    """Withdraw once missing longer than a cache may be outdated."""
    assert post.missing_since is not None  # noqa: S101 - for the type checker
    return replace(post, news=WITHDRAWN) if moment - post.missing_since >= CACHED_FOR else post
