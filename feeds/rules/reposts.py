"""Reposts: the same post under a new id. Its canonical link, alone at both times, gives it away."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

REPOST = "a repost"
# A feed that makes up ids at every reading would otherwise leave a row for each post each time.
KEPT_FOR_A_LINK = 10
# Reposts at one link, from which on it is a habit.
HABIT = 2


@dataclass(frozen=True, slots=True)
class Former:
    """An item, of any state, that has the link of a new entry. `repost`: it was excluded for being one."""

    pk: int
    id: str
    link: str
    repost: bool = False


def reposted(
    candidates: Iterable[str],
    formers: Iterable[Former],
    *,
    links: Mapping[str, str],
    there: Collection[str],
    previous: Collection[str],
) -> dict[str, Former]:
    """Candidate → the item that stood at its link in the previous document, and has left with this one.

    `links` are those of the document's entries by their ids, `there` all its ids. A link that stands on
    several entries of either document tells nothing.
    """
    on = Counter(links.values())
    stood: dict[str, list[Former]] = defaultdict(list)
    for former in formers:
        if former.id in previous:
            stood[former.link].append(former)
    found = {}
    for id_ in candidates:
        link = links.get(id_, "")
        before = stood.get(link, []) if link and on[link] == 1 else []
        if len(before) == 1 and before[0].id not in there:
            found[id_] = before[0]
    return found


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


def outdated(formers: Iterable[Former], links: Collection[str], keep: Collection[str]) -> list[int]:
    """Keys of those reposts at these links that are too many: all but the newest, and those to `keep`."""
    at: dict[str, list[int]] = defaultdict(list)
    for former in sorted(formers, key=lambda former: former.pk, reverse=True):
        if former.repost and former.link in links and former.id not in keep:
            at[former.link].append(former.pk)
    return [pk for pks in at.values() for pk in pks[KEPT_FOR_A_LINK:]]


def habitual(formers: Iterable[Former], links: Iterable[str]) -> int:
    """At how many of these links there were several reposts already."""
    reposts = Counter(former.link for former in formers if former.repost)
    return sum(reposts[link] >= HABIT for link in links)
