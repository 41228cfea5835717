"""One post by several feeds: a canonical link that is unique in each goes into a newsletter once.

So does one that is nearly the same (www, a slash, the order of the query, ref=, /amp/), under the same title.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from feeds.models import Item
from feeds.parsing.likeness import copy_hash
from feeds.rules.reposts import REPOST
from subscriptions.models import Carried, Subscribable


def skip_duplicates(item: Item, takers: Sequence[Subscribable]) -> dict[int, Item]:
    """Notes that these newsletters take the item. Returns those that had its post by another feed: by what.

    In the caller's transaction, which has locked the newsletters. Those of one feed are not asked.
    """
    if not item.link_hash:
        return {}
    several = _of_several_feeds(takers)
    if not several or not _is_alone(item):
        return {}
    keys = [key for key in (item.link_hash, copy_hash(item.link)) if key]
    rows = Carried.objects.filter(subscribable__in=several, link_hash__in=keys)
    rows = rows.select_related("item__feed").defer("item__entry").order_by("pk")
    there, had = set[tuple[int, str]](), dict[int, Item]()
    for row in rows:
        there.add((row.subscribable_id, row.link_hash))
        if row.subscribable_id not in had and _is_copy(item, row.item, row.link_hash):
            had[row.subscribable_id] = row.item
    Carried.objects.bulk_create(
        [
            Carried(subscribable_id=pk, link_hash=key, item=had.get(pk, item))
            for pk in several
            for key in keys
            if (pk, key) not in there
        ],
        ignore_conflicts=True,
    )
    return had


def _is_copy(item: Item, other: Item, key: str) -> bool:
    """Whether an item of another feed is the same post: its link is its own, or a like one has its title."""
    if other.feed_id == item.feed_id:
        return False
    if key == item.link_hash:
        return _is_alone(other)
    return bool(item.title.strip()) and item.title.casefold().split() == other.title.casefold().split()


def words_for(takers: Sequence[Subscribable], had: Mapping[int, Item]) -> str:
    """Why the item is not in some newsletters: a sentence for each."""
    refusing = [taker for taker in takers if taker.pk in had]
    return " ".join(
        f"It is not in “{taker}”, which has had this post from the feed “{had[taker.pk].feed}”."
        for taker in refusing
    )


def _of_several_feeds(takers: Sequence[Subscribable]) -> list[int]:
    feeds = Subscribable.feeds.through.objects.filter(subscribable__in=takers)
    counts = Counter(feeds.values_list("subscribable_id", flat=True))
    return sorted(pk for pk, count in counts.items() if count > 1)


def _is_alone(item: Item) -> bool:
    """Whether its link stands on no other post of its feed. (A repost is no other post.)"""
    same = Item.objects.filter(feed=item.feed_id, link_hash=item.link_hash).exclude(pk=item.pk)
    return not same.exclude(state=Item.State.EXCLUDED, reason=REPOST).exists()
