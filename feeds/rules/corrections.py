"""What a reading says of posts that went out: corrected, withdrawn, or nothing. Pure.

A correction counts when the new text has stood as long as the feed waits for any text to come to rest. A
withdrawal is told with more care than that of a post which still waits: what it takes down cannot be put
back. So what a feed's end may have cut off, what a cache may have left out, and what many posts have in
common at once, is none.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from feeds.rules.facts import Document
from feeds.rules.finality import CACHED_FOR, MINUTE, Timing

CORRECTED, WITHDRAWN = "corrected", "withdrawn"
# Of one post: what changes more often holds a counter, or is being written.
MOST_CORRECTIONS = 10
# So many older posts must still be there: the last one may be pinned to the document's end.
LEAST_OLDER = 2
# Where more than one of so many posts is gone from a document's middle, the feed shows others now.
SHARE_GONE = 4


@dataclass(frozen=True, slots=True)
class TrackedPost:
    """A TrackedItem's row with what its item says. `id` is the digest of the guid, `link` the link's hash."""

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
    timing: Timing,
    moment: datetime,
    came_back: Collection[str] = (),
    partial: bool = False,
) -> list[TrackedPost]:
    """Those that a document changes, as they are then.

    `previous` is the last document's order, newest first; `came_back` are the ids of posts that stand in this
    one under another id. A `partial` document was pushed: it says nothing of what it does not hold, and it
    may be older than what was read.
    """
    there = {*document.order, *came_back}
    links = {entry.link for entry in document.entries.values() if entry.link}
    dates = _dates_of_stayed(document, there, previous)
    known_before = set(previous)
    changed = []
    for post in posts:
        entry = document.entries.get(post.id)
        if entry is not None:
            after = _read(_present(post), entry.content_hash, timing, moment, settles=not partial)
        elif post.id in there or (post.link and post.link in links):
            after = _present(post)
        elif partial or post.news == WITHDRAWN:
            after = post
        else:
            after = _not_there(post, dates, moment, was_there=post.id in known_before)
        if after != post:
            changed.append(after)
    return changed


def after_unchanged(posts: Iterable[TrackedPost], *, timing: Timing, moment: datetime) -> list[TrackedPost]:
    """Those that a 304, or the same body again, changes: what was seen in it still stands."""
    changed = []
    for post in posts:
        if post.missing_since is not None:
            after = _missing_still(post, moment)
        else:
            after = _told(post, timing, moment) if post.seen_hash else post
        if after != post:
            changed.append(after)
    return changed


def _present(post: TrackedPost) -> TrackedPost:
    news = "" if post.news == WITHDRAWN else post.news
    return replace(post, missing_since=None, news=news) if post.missing_since else post


def _read(
    post: TrackedPost, content_hash: str, timing: Timing, moment: datetime, *, settles: bool
) -> TrackedPost:
    if content_hash == post.content_hash:
        return replace(post, seen_hash="", seen_since=None, news="") if post.seen_hash else post
    if content_hash != post.seen_hash:
        if moment > post.until or post.corrections >= MOST_CORRECTIONS:
            return post
        # What nobody has taken yet is out of date.
        post = replace(post, seen_hash=content_hash, seen_since=moment, news="")
    return _told(post, timing, moment) if settles else post


def _told(post: TrackedPost, timing: Timing, moment: datetime) -> TrackedPost:
    """The post's new text is news once it has stood for long enough: whole minutes, strictly more."""
    stood = moment - (post.seen_since or moment)
    if timing.at_first_sight or stood // MINUTE > timing.await_stabilization:
        return replace(post, news=CORRECTED)
    return post


def _dates_of_stayed(document: Document, there: Collection[str], previous: Sequence[str]) -> list[datetime]:
    """The dates of the posts that stood in the last document and in this one; none where that says nothing
    of a post that is missing: in a feed that is not in the order of its dates, or shows others than before.
    """
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
    """Withdrawn, perhaps, if it has a date, and enough posts that are as old or older are still there."""
    published = post.published
    stands = published is not None and sum(date <= published for date in dates) >= LEAST_OLDER
    if not stands:
        return replace(post, missing_since=None)
    if post.missing_since is not None:
        return _missing_still(post, moment)
    return replace(post, missing_since=moment) if was_there and moment <= post.until else post


def _missing_still(post: TrackedPost, moment: datetime) -> TrackedPost:
    """Withdrawn once it has been missing for longer than a cache may answer with an older document, and so
    at two readings at least."""
    assert post.missing_since is not None  # noqa: S101 - for the type checker
    return replace(post, news=WITHDRAWN) if moment - post.missing_since >= CACHED_FOR else post
