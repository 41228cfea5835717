"""What of a collection is sent, and how: the newsletter's rules, its order, its own code, its publishers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Concat, Trim

from common.hooks import HookError, Hooks
from delivery.rendering.rendered import LetterError, Rendered
from delivery.rules.announcing import announced
from delivery.services import hooks as own_code
from delivery.services.post import Post, without
from feeds.models import Item
from subscriptions.models import Subscribable
from subscriptions.rules.post_rules import Trouble, in_order, rewrite
from subscriptions.services.hooking import context_of, hooks_of
from subscriptions.services.post_rules import left_out_words, note_left_out, rules_of

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
    rules = rules_of(subscribable)
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
