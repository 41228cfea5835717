"""One post by several feeds: a canonical link that is unique in each goes into a newsletter once."""

from collections import Counter
from collections.abc import Mapping, Sequence

from feeds.models import Item
from feeds.rules.reposts import REPOST
from subscriptions.models import Carried, Subscribable


def carry(item: Item, takers: Sequence[Subscribable]) -> dict[int, Item]:
    """Notes that these newsletters take the item. Returns those that had its post by another feed: by what.

    In the caller's transaction, which has locked the newsletters. Those of one feed are not asked.
    """
    if not item.link_hash:
        return {}
    several = _of_several_feeds(takers)
    if not several or not _is_alone(item):
        return {}
    rows = Carried.objects.filter(subscribable__in=several, link_hash=item.link_hash)
    carried = {
        row.subscribable_id: row.item for row in rows.select_related("item__feed").defer("item__entry")
    }
    Carried.objects.bulk_create(
        [
            Carried(subscribable_id=pk, link_hash=item.link_hash, item=item)
            for pk in several
            if pk not in carried
        ],
        ignore_conflicts=True,
    )
    others = {pk: other for pk, other in carried.items() if other.feed_id != item.feed_id}
    alone = {other.pk: _is_alone(other) for other in others.values()}
    return {pk: other for pk, other in others.items() if alone[other.pk]}


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
