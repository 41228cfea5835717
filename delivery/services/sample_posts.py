"""The newest posts that a newsletter would take, as it would send them: for samples of letters."""

from collections.abc import Iterator

from common.hooks import HookError
from delivery.rendering.rendered import LetterError
from delivery.rules.announcing import announced
from delivery.services.contents import arranged
from delivery.services.post import Post
from feeds.services.present import present_entries
from subscriptions.models import Subscribable
from subscriptions.services.post_rules import verdict

# So many of each feed are looked at, for the newsletter may not take them all.
LOOKED_AT = 20


def sample_posts(subscribable: Subscribable, count: int) -> tuple[Post, ...]:
    """At most `count` of them; none where there is none. Raises LetterError where own code fails."""
    posts = sorted(_taken(subscribable, max(count, LOOKED_AT)), key=_published, reverse=True)
    # Where their publishers ask that none is announced, there is still something to look at.
    newest = (announced(posts) or posts)[:count]
    return arranged(subscribable, newest).posts or tuple(newest)


def _taken(subscribable: Subscribable, count: int) -> Iterator[Post]:
    for feed in subscribable.feeds.all():
        for entry in present_entries(feed, count):
            try:
                is_taken = verdict(subscribable, entry, feed=feed).is_kept
            except HookError as error:
                raise LetterError(str(error)) from error
            if is_taken:
                yield Post(0, 0, entry, feed.url)


def _published(post: Post) -> float:
    return post.entry.published.timestamp() if post.entry.published else 0
