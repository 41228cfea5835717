"""What a collection holds, copied out of the database for rendering."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from delivery.links import archive_url
from delivery.rendering.issue import IssueFacts
from delivery.rules.announcing import announced
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions.models import Assignable, Subscribable


@dataclass(frozen=True, slots=True)
class Post:
    """An item as it stands now, with the assignment that holds it (0 for a sample)."""

    item_id: int
    assignment_id: int
    entry: Entry

    @property
    def announce(self) -> str:
        return self.entry.announce


@dataclass(frozen=True, slots=True)
class Collected:
    """A sealed collection: its newsletter and its posts, newest first.

    `left_out` are those that their publisher wants not announced: they leave the collection unsent.
    """

    subscribable: Subscribable
    within_type_id: str
    period_start: datetime | None
    period_end: datetime | None
    posts: tuple[Post, ...]
    left_out: tuple[Post, ...] = ()

    @property
    def all_posts(self) -> tuple[Post, ...]:
        return self.posts + self.left_out


def collected(assignable: Assignable) -> Collected:
    """What the collection holds, told apart by the hints of its posts."""
    rows = assignable.assignments.select_related("item").order_by("-item__first_seen", "-item_id")
    posts = [Post(row.item_id, row.pk, entry_of(row.item)) for row in rows]
    sent = announced(posts)
    kept = {post.item_id for post in sent}
    return Collected(
        subscribable=assignable.subscribable,
        within_type_id=assignable.within_type_id,
        period_start=assignable.period_start,
        period_end=assignable.period_end,
        posts=tuple(sent),
        left_out=tuple(post for post in posts if post.item_id not in kept),
    )


def entry_of(item: Item) -> Entry:
    """The content an item carries. Raises ValueError for one that was cleared."""
    if item.entry is None:
        raise ValueError(f"Item {item.pk} has no content any more.")
    return Entry.from_json(item.entry)


def issue_facts(contents: Collected, *, now: datetime) -> IssueFacts:
    """The facts that rendering is given, and nothing else."""
    subscribable = contents.subscribable
    return IssueFacts(
        name=subscribable.name,
        newsletter=subscribable.title or subscribable.name,
        description=subscribable.description,
        from_email=subscribable.from_email or settings.DEFAULT_FROM_EMAIL,
        reply_to=subscribable.reply_to,
        language=subscribable.language,
        site_url=settings.SITE_URL,
        archive_url=archive_url(subscribable),
        params=dict(subscribable.params),
        arrangement=subscribable.arrangement,
        within_type_id=contents.within_type_id,
        period_start=contents.period_start,
        period_end=contents.period_end,
        time_zone=subscribable.time_zone,
        n=subscribable.n,
        template=subscribable.template,
        entries=tuple(post.entry for post in contents.posts),
        now=now,
    )
