"""What of a collection is sent, in which order, and how: by the newsletter's rules, its own code, its
publishers.

It is copied out of the database first: rendering sees no model.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.conf import settings
from django.db.models import Value
from django.db.models.functions import Concat, Trim

from common.ports.hooks import HookError, Hooks
from delivery.customisation import own_issue_sources, theme_of
from delivery.issues import own_code
from delivery.links import archive_url
from delivery.rendering.errors import LetterError, Rendered
from delivery.rendering.issue import IssueFacts
from delivery.rules.posts import Post, announced, without
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions.collections.post_rules import left_out_words, note_left_out
from subscriptions.models import Assignable, Subscribable
from subscriptions.newsletters.own_code import context_of, hooks_of
from subscriptions.rules.post_rules import Trouble, in_order, rewrite

# Which hook words a post for which channel.
ANNOUNCING = {"mastodon": "mastodon_announcement", "bluesky": "bluesky_announcement"}


@dataclass(frozen=True, slots=True)
class Arranged:
    """The posts that are sent, in their order, and those that are not; `reasons` of own code, by item.

    `announcement` is what own code wants posted in place of the usual words.
    """

    posts: tuple[Post, ...]
    left_out: tuple[Post, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    announcement: str = ""
    troubles: tuple[Trouble, ...] = ()


def arranged(subscribable: Subscribable, posts: Sequence[Post]) -> Arranged:
    """The posts (given newest first) as the newsletter wants them.

    First its rules that replace, then its order, then its hooks; last what their publishers ask for. Raises
    LetterError where own code fails: nothing is sent then, and nothing is lost.
    """
    rules = subscribable.active_rules
    done = [rewrite(post.entry, rules) for post in posts]
    ready = [post.with_entry(each.entry) for post, each in zip(posts, done, strict=True)]
    ready = in_order(ready, subscribable.post_order, lambda post: post.entry.title)
    with _as_letter_errors():
        hooks = hooks_of(subscribable)
        found = _by_hooks(subscribable, hooks, ready) if hooks.functions else _by_hints(ready)
    return replace(found, troubles=tuple(trouble for each in done for trouble in each.troubles))


def own_subject(subscribable: Subscribable, posts: Sequence[Post]) -> str:
    """The subject that the newsletter's own code chooses; "" for the usual one. Raises LetterError."""
    with _as_letter_errors():
        return own_code.subject(subscribable, posts)


def in_own_words(rendered: Rendered, announcement: str) -> Rendered:
    """An issue for an account, in the newsletter's own words: it has no html, its text is what is posted."""
    return replace(rendered, html="", text=announcement, holes={})


def note_dropped(subscribable: Subscribable, reasons: Mapping[int, str], *, now: datetime) -> None:
    """Keeps which posts the newsletter's own code has dropped, and why. In the caller's transaction."""
    if not reasons:
        return
    note_left_out(subscribable, dict(reasons), now=now)
    for pk, reason in sorted(reasons.items()):
        said = Value(f" {left_out_words(subscribable, reason)}")
        Item.objects.filter(pk=pk).update(reason=Trim(Concat("reason", said)))


@contextmanager
def _as_letter_errors() -> Iterator[None]:
    try:
        yield
    except HookError as error:
        raise LetterError(str(error)) from error


def _by_hints(posts: Sequence[Post]) -> Arranged:
    sent = announced(posts)
    return Arranged(tuple(sent), without(posts, sent))


def _by_hooks(subscribable: Subscribable, hooks: Hooks, posts: Sequence[Post]) -> Arranged:
    context = context_of(subscribable)
    # (A sample of a digest may hold more.)
    is_single = subscribable.arrangement == Subscribable.Arrangement.EACH and len(posts) == 1
    chosen = own_code.chosen(hooks, context, posts, is_single=is_single)
    found = _by_hints([own_code.restricted(hooks, context, post) for post in chosen])
    found = _dropping(found, without(posts, chosen), "the newsletter’s own code (contents) has dropped it")
    kind = ANNOUNCING.get(subscribable.channel, "")
    if not found.posts or not is_single or kind not in hooks:
        return found
    text = own_code.announcement(hooks, kind, context, found.posts[0])
    if not text:
        reason = f"the newsletter’s own code ({kind}) has no words for it"
        return _dropping(replace(found, posts=()), found.posts, reason)
    return replace(found, announcement=text)


def _dropping(found: Arranged, dropped: Sequence[Post], reason: str) -> Arranged:
    """With these posts left out by own code, whatever their publishers ask."""
    unhinted = (post.with_entry(replace(post.entry, announce="")) for post in dropped)
    reasons = dict.fromkeys((post.item_id for post in dropped), reason)
    return replace(found, left_out=(*found.left_out, *unhinted), reasons={**found.reasons, **reasons})


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
