from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, product
from typing import Protocol

from feeds.parsing.likeness import UNLIKE, Likeness, is_long

REPOST = "a repost"
# Feeds that invent ids would add a row per post and reading.
KEPT_FOR_A_LINK = 10
# Corrections are smaller; a weekly series repeats after more.
NEARLY_A_WEEK = timedelta(days=6, hours=12)
# They may be new whatever the text: some use a form.
RECENT = timedelta(days=1)
# Dates without a time have more slack.
A_TIME = timedelta(hours=12)
# Required `likeness.similarity`.
SOMEWHAT_SIMILAR, SIMILAR, VERY_SIMILAR = 0.3, 0.5, 0.8
# Nobody corrects so many posts; limits the work.
MOST_TRIED, MOST_PAIRS = 2_500, 20
# Index of (title, path).
BY_PLACE = 3
HABIT = 2


@dataclass(frozen=True, slots=True)
class Former:
    """`repost`: excluded as one."""

    pk: int
    id: str
    link: str
    repost: bool = False
    published: datetime | None = None
    like: Likeness = UNLIKE


class PostFacts(Protocol):
    @property
    def link(self) -> str: ...
    @property
    def published(self) -> datetime | None: ...
    @property
    def like(self) -> Likeness: ...


class DatedPost(PostFacts, Protocol):
    """`slack`: how much later than `published` it may be."""

    @property
    def slack(self) -> timedelta: ...


def _by_title_and_date(post: PostFacts) -> Hashable:
    return (post.like.title, post.published) if post.like.title and post.published else None


def _keys(post: PostFacts, *, moved: bool) -> tuple[Hashable, ...]:
    """Return identifying keys, surest first."""
    keys = (post.link or None, _by_title_and_date(post))
    if not moved:
        return keys
    # Enough when all ids change at once.
    title, place = post.like.title, post.like.place
    return (*keys, post.like.loose or None, (title, place) if title and place else None)


def reposted(
    candidates: Sequence[str],
    formers: Iterable[Former],
    *,
    entries: Mapping[str, PostFacts],
    there: Collection[str],
    previous: Collection[str],
    moved: bool = False,
) -> dict[str, Former]:
    """Return candidate → item of the previous document.

    Shared keys mean nothing. `there`: ids of this document; `moved`: none is in the previous one.
    """
    of_entries = {id_: _keys(entry, moved=moved) for id_, entry in entries.items()}
    formers_before = [(former, _keys(former, moved=moved)) for former in formers if former.id in previous]
    newest = max((former.published for former, _ in formers_before if former.published), default=None)
    matches: dict[str, Former] = {}
    for number in range(4 if moved else 2):
        here = Counter(keys[number] for keys in of_entries.values())
        before: dict[Hashable, list[Former]] = defaultdict(list)
        for former, keys in formers_before:
            before[keys[number]].append(former)
        taken = {former.id for former in matches.values()}
        for id_ in candidates:
            key = of_entries[id_][number] if id_ in entries and id_ not in matches else None
            if key is None or here[key] > 1 or len(before[key]) != 1:
                continue
            (former,) = before[key]
            published = entries[id_].published
            if number == BY_PLACE and published and newest and published > newest:
                # Perhaps the next part of a serial.
                continue
            # #monday and #tuesday are two posts.
            places = {entries[id_].like.fragment, former.like.fragment} - {""}
            are_two = len(places) > 1 and entries[id_].link == former.link
            if former.id not in there and former.id not in taken and not are_two:
                matches[id_] = former
    return matches


@dataclass(frozen=True, slots=True)
class Suspect:
    """A corrected former, if texts are at least this `similar`."""

    id: str
    former: Former
    similar: float
    # Title and date suffice if texts are unknown.
    is_likely: bool = False


def suspects(
    candidates: Sequence[str],
    formers: Iterable[Former],
    *,
    entries: Mapping[str, DatedPost],
    order: Sequence[str],
    previous: Sequence[str],
    recognised: Collection[str] = (),
    moment: datetime | None = None,
    partial: bool = False,
) -> list[Suspect]:
    """Return new entries that may be corrected posts with new ids.

    A former must have left its place, not rolled off or been replaced with most others. `order`, `previous`:
    newest first; `recognised`: ids with others here. Without `moment` return all possible pairs.
    """
    there = {*order, *recognised}
    places = {id_: place for place, id_ in enumerate(previous)}
    stayed = [id_ for id_ in previous if id_ in there]
    gone = [former for former in formers if former.id in places and former.id not in there]
    if not (stayed or partial) or not 0 < len(candidates) * len(gone) <= MOST_TRIED:
        return []
    last = max((places[id_] for id_ in stayed), default=-1)
    inside = {id_ for id_, place in places.items() if place < last and id_ not in there}
    if moment is not None and not partial and len(inside) > len(stayed):
        return []
    # Equal for a post that kept its place.
    known = set(stayed)
    before = dict(zip(previous, accumulate((id_ in known for id_ in previous), initial=0), strict=False))
    now = dict(zip(order, accumulate((id_ in known for id_ in order), initial=0), strict=False))
    here = Counter(entry.like.title for entry in entries.values())
    was = Counter(former.like.title for former in gone)
    was.update(entries[id_].like.title for id_ in stayed if id_ in entries)
    is_alone = moment is None or (len(candidates) == 1 and len(inside) <= 1)
    pairs = []
    for id_, former in product((id_ for id_ in candidates if id_ in entries), gone):
        # Reposts may change positions.
        in_place = moment is None or before[former.id] == now[id_]
        kept_the_end = in_place and now[id_] == len(stayed)
        if moment is not None and not partial and former.id not in inside and not kept_the_end:
            continue
        entry, title = entries[id_], former.like.title
        is_one = entry.like.title == title and here[title] == 1 and was[title] == 1
        similar = _needed(entry, former, moment, is_one=is_one, is_alone=is_alone, in_place=in_place)
        if similar is not None:
            pairs.append(Suspect(id_, former, similar, similar == SIMILAR))
    return pairs[:MOST_PAIRS]


def _needed(
    entry: DatedPost, former: Former, moment: datetime | None, *, is_one: bool, is_alone: bool, in_place: bool
) -> float | None:
    """Return the required similarity, or None for two posts.

    `is_one`: unique titles. `is_alone`: one post left, one appeared.
    """
    published, was = entry.published, former.published
    if published is None or was is None:
        return VERY_SIMILAR if published == was and is_alone and in_place else None
    if is_one and is_long(former.like.title) and abs(published - was) <= NEARLY_A_WEEK:
        return SIMILAR
    has_time = entry.slack <= A_TIME
    if published == was:
        return SOMEWHAT_SIMILAR if has_time else VERY_SIMILAR
    is_recent = moment is not None and max(was, moment - RECENT) < published <= moment
    if published.time() == was.time() and has_time and not is_recent and is_alone and (in_place or is_one):
        return VERY_SIMILAR
    return None


def corrected(
    suspected: Iterable[Suspect], similarities: Mapping[tuple[str, str], float]
) -> dict[str, Former]:
    """Return candidate → former for similar pairs, each post in one pair only."""
    pairs = []
    for one in suspected:
        known = similarities.get((one.id, one.former.id))
        if one.is_likely if known is None else known >= one.similar:
            pairs.append((one.id, one.former))
    ids, formers = Counter(id_ for id_, _ in pairs), Counter(former.id for _, former in pairs)
    return {id_: former for id_, former in pairs if ids[id_] == formers[former.id] == 1}


def returning(
    candidates: Iterable[str],
    formers: Iterable[Former],
    *,
    links: Mapping[str, str],
    there: Collection[str],
    waiting: Collection[str],
) -> dict[str, Former]:
    """Return candidate → waiting item that had this id, as it would never be sent otherwise."""
    on = Counter(links.values())
    at: dict[str, list[Former]] = defaultdict(list)
    for former in formers:
        if not former.repost:
            at[former.link].append(former)
    matches = {}
    for id_ in candidates:
        link = links.get(id_, "")
        posts = at.get(link, []) if on[link] == 1 else []
        if len(posts) == 1 and posts[0].id in waiting and posts[0].id not in there:
            matches[id_] = posts[0]
    return matches


def _same_post(former: Former) -> Hashable:
    return _by_title_and_date(former) or former.link


def outdated(formers: Iterable[Former], twins: Collection[Former], keep: Collection[str]) -> list[int]:
    """Return keys of surplus reposts, except the newest and `keep`."""
    posts = set(map(_same_post, twins))
    of: dict[Hashable, list[int]] = defaultdict(list)
    for former in sorted(formers, key=lambda former: former.pk, reverse=True):
        if former.repost and _same_post(former) in posts and former.id not in keep:
            of[_same_post(former)].append(former.pk)
    return [pk for pks in of.values() for pk in pks[KEPT_FOR_A_LINK:]]


def habitual(formers: Iterable[Former], twins: Collection[Former]) -> int:
    reposts = Counter(_same_post(former) for former in formers if former.repost)
    return sum(reposts[post] >= HABIT for post in set(map(_same_post, twins)))
