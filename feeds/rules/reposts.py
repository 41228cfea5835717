"""Reposts: the same post under a new id. It is recognised by its link, or by its title and date."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from feeds.parsing.likeness import UNLIKE, Likeness

REPOST = "a repost"
# A feed that makes up ids at every reading would otherwise leave a row for each post each time.
KEPT_FOR_A_LINK = 10
# The place of the key of title and path among the keys.
BY_PLACE = 3
# From so many reposts of one post on, it is a habit.
HABIT = 2


@dataclass(frozen=True, slots=True)
class Former:
    """An item in any state whose post a new entry may be. `repost`: it was excluded as one."""

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


def _by_title_and_date(post: PostFacts) -> Hashable:
    return (post.like.title, post.published) if post.like.title and post.published else None


def _keys(post: PostFacts, *, moved: bool) -> tuple[Hashable, ...]:
    """What a post is recognised by, the surest first; None where it has nothing of the kind."""
    keys = (post.link or None, _by_title_and_date(post))
    if not moved:
        return keys
    # Two posts are seldom so much alike, and that all ids change at once means something.
    title, place = post.like.title, post.like.place
    return (*keys, post.like.loose or None, (title, place) if title and place else None)


def _is_later(published: datetime | None, newest: datetime | None) -> bool:
    return published is not None and newest is not None and published > newest


def reposted(
    candidates: Sequence[str],
    formers: Iterable[Former],
    *,
    entries: Mapping[str, PostFacts],
    there: Collection[str],
    previous: Collection[str],
    moved: bool = False,
) -> dict[str, Former]:
    """Candidate → the item that was this post in the previous document, and is not in this one any more.

    `entries` are the document's by their ids, `there` all its ids. A likeness that several posts of either
    document share says nothing. `moved`: no id of the previous document is left.
    """
    of_entries = {id_: _keys(entry, moved=moved) for id_, entry in entries.items()}
    stood = [(former, _keys(former, moved=moved)) for former in formers if former.id in previous]
    newest = max((former.published for former, _ in stood if former.published), default=None)
    found: dict[str, Former] = {}
    # A key must be true of one entry and of one former alone.
    for number in range(4 if moved else 2):
        here = Counter(keys[number] for keys in of_entries.values())
        before: dict[Hashable, list[Former]] = defaultdict(list)
        for former, keys in stood:
            before[keys[number]].append(former)
        taken = {former.id for former in found.values()}
        for id_ in candidates:
            said = of_entries[id_][number] if id_ in entries and id_ not in found else None
            if said is None or here[said] > 1 or len(before[said]) != 1:
                continue
            (former,) = before[said]
            if number == BY_PLACE and _is_later(entries[id_].published, newest):
                # The next part of a serial: the page is the same, and so may the title be.
                continue
            # Two that stand on one page at different places (#monday, #tuesday) are two posts.
            places = {entries[id_].like.fragment, former.like.fragment} - {""}
            are_two = len(places) > 1 and entries[id_].link == former.link
            if former.id not in there and former.id not in taken and not are_two:
                found[id_] = former
    return found


def returning(
    candidates: Iterable[str],
    formers: Iterable[Former],
    *,
    links: Mapping[str, str],
    there: Collection[str],
    waiting: Collection[str],
) -> dict[str, Former]:
    """Candidate → the item that once had this id, if it waits to settle and its present id is not `there`.

    The candidates are ids that were left behind. A post that takes one again would otherwise never be sent.
    `waiting` are the ids of items that may still change. A link that several posts have says nothing.
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
    """What reposts of one post have in common: title and date, else the link, as links may be new, too."""
    return _by_title_and_date(former) or former.link


def outdated(formers: Iterable[Former], twins: Collection[Former], keep: Collection[str]) -> list[int]:
    """Keys of reposts of the `twins` that are too many: not the newest ones, nor those to `keep` (ids)."""
    posts = set(map(_same_post, twins))
    of: dict[Hashable, list[int]] = defaultdict(list)
    for former in sorted(formers, key=lambda former: former.pk, reverse=True):
        if former.repost and _same_post(former) in posts and former.id not in keep:
            of[_same_post(former)].append(former.pk)
    return [pk for pks in of.values() for pk in pks[KEPT_FOR_A_LINK:]]


def habitual(formers: Iterable[Former], twins: Collection[Former]) -> int:
    """How many of these posts had several reposts already."""
    reposts = Counter(_same_post(former) for former in formers if former.repost)
    return sum(reposts[post] >= HABIT for post in set(map(_same_post, twins)))
