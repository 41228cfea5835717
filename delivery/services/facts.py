"""What a collection holds, copied out of the database for rendering."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings

from delivery.links import archive_url
from delivery.rendering.issue import IssueFacts
from delivery.services.contents import arranged, own_subject
from delivery.services.own_templates import own_issue_sources
from delivery.services.post import Post
from delivery.services.theming import theme_of
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.post_rules import Trouble

__all__ = ["Collected", "Post", "collected", "entry_of", "issue_facts"]


@dataclass(frozen=True, slots=True)
class Collected:
    """A sealed collection: its newsletter and its posts, as its rules and its own code have them.

    `left_out` are those that their publisher wants not announced, and those that the newsletter's own code
    has dropped (the `reasons`, by item): they leave the collection unsent. `announcement` is what that code
    wants posted in place of the usual words.
    """

    subscribable: Subscribable
    within_type_id: str
    period_start: datetime | None
    period_end: datetime | None
    posts: tuple[Post, ...]
    left_out: tuple[Post, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    announcement: str = ""
    troubles: tuple[Trouble, ...] = ()

    @property
    def all_posts(self) -> tuple[Post, ...]:
        return self.posts + self.left_out


def collected(assignable: Assignable) -> Collected:
    """What the collection holds, as its newsletter wants it sent.

    Outside of any transaction: the newsletter may have code of its own. Raises LetterError where that fails.
    """
    rows = assignable.assignments.select_related("item__feed").order_by("-item__first_seen", "-item_id")
    posts = [Post(row.item_id, row.pk, entry_of(row.item), row.item.feed.url) for row in rows]
    done = arranged(assignable.subscribable, posts)
    return Collected(
        subscribable=assignable.subscribable,
        within_type_id=assignable.within_type_id,
        period_start=assignable.period_start,
        period_end=assignable.period_end,
        posts=done.posts,
        left_out=done.left_out,
        reasons=done.reasons,
        announcement=done.announcement,
        troubles=done.troubles,
    )


def entry_of(item: Item) -> Entry:
    """The content an item carries. Raises ValueError for one that was cleared."""
    if item.entry is None:
        raise ValueError(f"Item {item.pk} has no content any more.")
    return Entry.from_json(item.entry)


def issue_facts(contents: Collected, *, now: datetime) -> IssueFacts:
    """The facts that rendering is given, and nothing else. Raises LetterError where own code fails."""
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
        theme=theme_of(subscribable),
        own=own_issue_sources(subscribable),
        subject=own_subject(subscribable, contents.posts),
        most_posts=subscribable.max_posts,
        entries=tuple(post.entry for post in contents.posts),
        now=now,
    )
