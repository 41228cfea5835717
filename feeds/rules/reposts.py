from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate, product

from feeds.parsing.likeness import Likeness, is_long
from feeds.rules.facts import BEYOND, ItemRow, PollPlan, Seen

ONLY_READ = "came while the feed was only read here"
LETTERS_ENDED = "its feed is no longer sent, only read here"
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


def is_repost(item: ItemRow) -> bool:
    return item.state == "excluded" and item.reason == REPOST


def _by_title_and_date(like: Likeness, published: datetime | None) -> Hashable:
    return (like.title, published) if like.title and published else None


def _keys(link: str, published: datetime | None, like: Likeness, *, moved: bool) -> tuple[Hashable, ...]:
    """Return identifying keys, surest first."""
    keys = (link or None, _by_title_and_date(like, published))
    if not moved:
        return keys
    # Enough when all ids change at once.
    return (*keys, like.loose or None, (like.title, like.place) if like.title and like.place else None)


def reposted(
    candidates: Sequence[str],
    formers: Iterable[ItemRow],
    *,
    entries: Mapping[str, Seen],
    there: Collection[str],
    previous: Collection[str],
    moved: bool = False,
) -> dict[str, ItemRow]:
    """Return candidate → item of the previous document.

    Shared keys mean nothing. `there`: ids of this document; `moved`: none is in the previous one.
    """
    of_entries = {
        id_: _keys(entry.link, entry.published, entry.like, moved=moved) for id_, entry in entries.items()
    }
    formers_before = [
        (former, _keys(former.link_hash, former.published_at, former.like, moved=moved))
        for former in formers
        if former.guid_hash in previous
    ]
    newest = max((former.published_at for former, _ in formers_before if former.published_at), default=None)
    matches: dict[str, ItemRow] = {}
    for number in range(4 if moved else 2):
        here = Counter(keys[number] for keys in of_entries.values())
        before: dict[Hashable, list[ItemRow]] = defaultdict(list)
        for former, keys in formers_before:
            before[keys[number]].append(former)
        taken = {former.guid_hash for former in matches.values()}
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
            are_two = len(places) > 1 and entries[id_].link == former.link_hash
            if former.guid_hash not in there and former.guid_hash not in taken and not are_two:
                matches[id_] = former
    return matches


def suspects(
    candidates: Sequence[str],
    formers: Iterable[ItemRow],
    *,
    entries: Mapping[str, Seen],
    order: Sequence[str],
    previous: Sequence[str],
    recognised: Collection[str] = (),
    moment: datetime | None = None,
    partial: bool = False,
) -> list[tuple[str, ItemRow, float]]:
    """Return new entries that may be corrected formers, if texts are at least so similar.

    A former must have left its place, not rolled off or been replaced with most others. `order`, `previous`:
    newest first; `recognised`: ids with others here. Without `moment` return all possible pairs.
    """
    there = {*order, *recognised}
    places = {id_: place for place, id_ in enumerate(previous)}
    stayed = [id_ for id_ in previous if id_ in there]
    gone = [former for former in formers if former.guid_hash in places and former.guid_hash not in there]
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
        in_place = moment is None or before[former.guid_hash] == now[id_]
        kept_the_end = in_place and now[id_] == len(stayed)
        if moment is not None and not partial and former.guid_hash not in inside and not kept_the_end:
            continue
        entry, title = entries[id_], former.like.title
        is_one = entry.like.title == title and here[title] == 1 and was[title] == 1
        similar = _needed(entry, former, moment, is_one=is_one, is_alone=is_alone, in_place=in_place)
        if similar is not None:
            pairs.append((id_, former, similar))
    return pairs[:MOST_PAIRS]


def _needed(
    entry: Seen, former: ItemRow, moment: datetime | None, *, is_one: bool, is_alone: bool, in_place: bool
) -> float | None:
    """Return the required similarity, or None for two posts.

    `is_one`: unique titles. `is_alone`: one post left, one appeared.
    """
    published, was = entry.published, former.published_at
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
    suspected: Iterable[tuple[str, ItemRow, float]], similarities: Mapping[tuple[str, str], float]
) -> dict[str, ItemRow]:
    """Return candidate → former for similar pairs, each post in one pair only."""
    pairs = []
    for id_, former, needed in suspected:
        similar = similarities.get((id_, former.guid_hash))
        # Title and date suffice if texts are unknown.
        if needed == SIMILAR if similar is None else similar >= needed:
            pairs.append((id_, former))
    ids, formers = Counter(id_ for id_, _ in pairs), Counter(former.guid_hash for _, former in pairs)
    return {id_: former for id_, former in pairs if ids[id_] == formers[former.guid_hash] == 1}


def returning(
    candidates: Iterable[str],
    formers: Iterable[ItemRow],
    *,
    links: Mapping[str, str],
    there: Collection[str],
    waiting: Collection[str],
) -> dict[str, ItemRow]:
    """Return candidate → waiting item that had this id, as it would never be sent otherwise."""
    on = Counter(links.values())
    at: dict[str, list[ItemRow]] = defaultdict(list)
    for former in formers:
        if not is_repost(former):
            at[former.link_hash].append(former)
    matches = {}
    for id_ in candidates:
        link = links.get(id_, "")
        posts = at.get(link, []) if on[link] == 1 else []
        if len(posts) == 1 and posts[0].guid_hash in waiting and posts[0].guid_hash not in there:
            matches[id_] = posts[0]
    return matches


def _same_post(former: ItemRow) -> Hashable:
    return _by_title_and_date(former.like, former.published_at) or former.link_hash


def outdated(formers: Iterable[ItemRow], twins: Collection[ItemRow], keep: Collection[str]) -> list[int]:
    """Return keys of surplus reposts, except the newest and `keep`."""
    posts = set(map(_same_post, twins))
    of: dict[Hashable, list[int]] = defaultdict(list)
    for former in sorted(formers, key=lambda former: former.pk, reverse=True):
        if is_repost(former) and _same_post(former) in posts and former.guid_hash not in keep:
            of[_same_post(former)].append(former.pk)
    return [pk for pks in of.values() for pk in pks[KEPT_FOR_A_LINK:]]


def habitual(formers: Iterable[ItemRow], twins: Collection[ItemRow]) -> int:
    reposts = Counter(_same_post(former) for former in formers if is_repost(former))
    return sum(reposts[post] >= HABIT for post in set(map(_same_post, twins)))


def only_read(plan: PollPlan) -> PollPlan:
    """Exclude new items. Older ones settle as before."""
    plan.insert = [
        replace(
            insert,
            excluded=insert.excluded if insert.excluded in (REPOST, BEYOND) else ONLY_READ,
            final=False,
            held=False,
        )
        for insert in plan.insert
    ]
    return plan
