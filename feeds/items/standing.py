"""Where a post stands on its way out of its feed."""

from datetime import datetime

from feeds.models import Feed, Item
from feeds.rules.item_status import ItemStatus, explain


def standing(item: Item, now: datetime) -> str:
    """Whether the post is sent, and why not. Asks the database for its feed."""
    facts = ItemStatus(
        state=item.state,
        reason=item.reason,
        first_seen=item.first_seen,
        stable_since=item.stable_since,
        final=item.final_at is not None,
        vanished=item.vanished_at is not None,
        rolled_off=item.rolled_off_at is not None,
        watched=item.feed.status == Feed.Status.ACTIVE,
        held=item.held_at is not None,
        changes=item.changes,
        set_aside=item.set_aside_at is not None,
    )
    return explain(facts, item.feed.timing, now)
