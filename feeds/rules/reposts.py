"""Reposts: the same post under a new id. Its link gives it away, or its title and date."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from feeds.parsing.likeness import UNLIKE, Likeness

REPOST = "a repost"
# A feed that makes up ids at every reading would otherwise leave a row for each post each time.
KEPT_FOR_A_LINK = 10
# Reposts of one post, from which on it is a habit.
HABIT = 2


@dataclass(frozen=True, slots=True)
class Former:
    """An item, of any state, that a new entry may be. `repost`: it was excluded for being one."""

    pk: int
    id: str
    link: str
    repost: bool = False
    published: datetime | None = None
    like: Likeness = UNLIKE


class PostFacts(Protocol):
    """An entry of a document, or a former."""

    @property
    def link(self) -> str: ...
    @property
    def published(self) -> datetime | None: ...
    @property
    def like(self) -> Likeness: ...


Key = Callable[[PostFacts], Hashable]


def _by_link(post: PostFacts) -> Hashable:
    return post.link or None


def _by_title_and_date(post: PostFacts) -> Hashable:
    return (post.like.title, post.published) if post.like.title and post.published else None


def _by_loose_link(post: PostFacts) -> Hashable:
    return post.like.loose or None


def _by_title_and_place(post: PostFacts) -> Hashable:
    return (post.like.title, post.like.place) if post.like.title and post.like.place else None


# Each must be true of one entry and of one former alone; the surer goes first.
KEYS: Sequence[Key] = (_by_link, _by_title_and_date)
# Two posts are seldom so much alike; that all ids change at once means something.
KEYS_OF_A_MOVE: Sequence[Key] = (_by_loose_link, _by_title_and_place)


def reposted(
    candidates: Sequence[str],
    formers: Iterable[Former],
    *,
    entries: Mapping[str, PostFacts],
    there: Collection[str],
    previous: Collection[str],
    moved: bool = False,
) -> dict[str, Former]:
    """Candidate → the item that it was in the previous document, and that has left with this one.

    `entries` are the document's by their ids, `there` all its ids. What is true of several posts of either
    document tells nothing. `moved`: no id of the previous document is left.
    """
    stood = [former for former in formers if former.id in previous]
    found: dict[str, Former] = {}
    for key in (*KEYS, *(KEYS_OF_A_MOVE if moved else ())):
        here = Counter(map(key, entries.values()))
        before: dict[Hashable, list[Former]] = defaultdict(list)
        for former in stood:
            before[key(former)].append(former)
        taken = {former.id for former in found.values()}
        for id_ in candidates:
            said = key(entries[id_]) if id_ in entries and id_ not in found else None
            if said is None or here[said] > 1 or len(before[said]) != 1:
                continue
            (former,) = before[said]
            if former.id not in there and former.id not in taken and _may_be(entries[id_], former):
                found[id_] = former
    return found


def _may_be(post: PostFacts, former: PostFacts) -> bool:
    """Not where both stand on one page at different places (#monday, #tuesday)."""
    here, before = post.like.fragment, former.like.fragment
    return not (here and before) or here == before or post.link != former.link


def returning(
    candidates: Iterable[str],
    formers: Iterable[Former],
    *,
    links: Mapping[str, str],
    there: Collection[str],
    waiting: Collection[str],
) -> dict[str, Former]:
    """Candidate → the item that it was an earlier id of, and that is `waiting` or withdrawn, and not `there`.

    The candidates are ids that were left behind. (Nothing would ever come of a post that takes one again.)
    A link at which there were several posts tells nothing.
    """
    on = Counter(links.values())
    at: dict[str, list[Former]] = defaultdict(list)
    for former in formers:
        if not former.repost:
            at[former.link].append(former)
    found = {}
    for id_ in candidates:
        link = links.get(id_, "")
        posts = at.get(link, []) if on[link] == 1 else []
        if len(posts) == 1 and posts[0].id in waiting and posts[0].id not in there:
            found[id_] = posts[0]
    return found


def _same_post(former: Former) -> Hashable:
    """What reposts of one post have in common: ids may come with ever new links, too."""
    return _by_title_and_date(former) or former.link


def outdated(formers: Iterable[Former], twins: Collection[Former], keep: Collection[str]) -> list[int]:
    """Keys of those reposts of the `twins` that are too many: all but the newest, and those to `keep`."""
    posts = set(map(_same_post, twins))
    of: dict[Hashable, list[int]] = defaultdict(list)
    for former in sorted(formers, key=lambda former: former.pk, reverse=True):
        if former.repost and _same_post(former) in posts and former.id not in keep:
            of[_same_post(former)].append(former.pk)
    return [pk for pks in of.values() for pk in pks[KEPT_FOR_A_LINK:]]


def habitual(formers: Iterable[Former], twins: Collection[Former]) -> int:
    """Of how many of these posts there were several reposts already."""
    reposts = Counter(_same_post(former) for former in formers if former.repost)
    return sum(reposts[post] >= HABIT for post in set(map(_same_post, twins)))
