"""One post by several feeds: a post whose canonical link is unique in each feed goes into a newsletter once.

So does a post of the same title whose link is nearly the same: but for www, a slash, the order of the query,
ref= or /amp/.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from feeds.models import Item
from feeds.parsing.likeness import copy_hash
from feeds.rules.reposts import REPOST
from subscriptions.models import SeenLink, Subscribable


def skip_duplicates(item: Item, takers: Sequence[Subscribable]) -> dict[int, Item]:
    """Notes that these newsletters take the item. Returns the earlier item of the same post, by newsletter.

    In the caller's transaction, which has locked the newsletters. Newsletters of one feed are not looked at.
    """
    if not item.link_hash:
        return {}
    feeds = Subscribable.feeds.through.objects.filter(subscribable__in=takers)
    counts = Counter(feeds.values_list("subscribable_id", flat=True))
    several = sorted(pk for pk, count in counts.items() if count > 1)
    if not several or not _is_alone(item):
        return {}
    keys = [key for key in (item.link_hash, copy_hash(item.link)) if key]
    rows = SeenLink.objects.filter(subscribable__in=several, link_hash__in=keys)
    rows = rows.select_related("item__feed").defer("item__entry").order_by("pk")
    there, had = set[tuple[int, str]](), dict[int, Item]()
    title = item.title.casefold().split()
    for row in rows:
        there.add((row.subscribable_id, row.link_hash))
        if row.subscribable_id in had or row.item.feed_id == item.feed_id:
            continue
        # It is the same post if the link is the other's own, too, or if a like link has the same title.
        if row.link_hash == item.link_hash:
            is_copy = _is_alone(row.item)
        else:
            is_copy = bool(title) and title == row.item.title.casefold().split()
        if is_copy:
            had[row.subscribable_id] = row.item
    SeenLink.objects.bulk_create(
        [
            SeenLink(subscribable_id=pk, link_hash=key, item=had.get(pk, item))
            for pk in several
            for key in keys
            if (pk, key) not in there
        ],
        ignore_conflicts=True,
    )
    return had


def words_for(takers: Sequence[Subscribable], had: Mapping[int, Item]) -> str:
    """Why the item is not in some newsletters: a sentence for each."""
    refusing = [taker for taker in takers if taker.pk in had]
    return " ".join(
        f"It is not in “{taker}”, which has had this post from the feed “{had[taker.pk].feed}”."
        for taker in refusing
    )


def _is_alone(item: Item) -> bool:
    """Whether its link stands on no other post of its feed. A repost is no other post."""
    same = Item.objects.filter(feed=item.feed_id, link_hash=item.link_hash).exclude(pk=item.pk)
    return not same.exclude(state=Item.State.EXCLUDED, reason=REPOST).exists()
