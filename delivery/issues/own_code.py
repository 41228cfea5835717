"""Calls of a newsletter's own code, with checks of the results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from common.ports.hooks import Hooks
from common.text import one_line, shortened, without_controls
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.rules.posts import Post, override
from subscriptions.hooks import Context, Recipient, entry_of, post_of
from subscriptions.hooks import Post as Shown
from subscriptions.models import Subscribable
from subscriptions.newsletters.own_code import context_of, hooks_of

MAX_ANNOUNCEMENT = 10_000


def chosen(hooks: Hooks, context: Context, posts: Sequence[Post], *, is_single: bool) -> list[Post]:
    """Return posts selected by the hook `contents`, each once. Raises HookFailed."""
    if "contents" not in hooks:
        return list(posts)
    answer = hooks.call("contents", context=context, posts=_shown(posts))
    # A generator runs, and may fail, only now.
    try:
        given = list(answer)
    except Exception as error:
        raise hooks.failed("contents", f"gave back no posts: {type(error).__name__}: {error}") from error
    for post in given:
        if not isinstance(post, Shown):
            raise hooks.failed("contents", f"gave back {post!r:.100}, which is no post")
    keys = [post.key for post in given]
    if not set(keys) <= set(range(len(posts))) or len(set(keys)) != len(keys):
        raise hooks.failed("contents", "gave back a post twice, or one that it was not given")
    if is_single and len(given) != 1:
        raise hooks.failed(
            "contents", f"gave back {len(given)} posts where each is sent on its own: give back one"
        )
    try:
        return [posts[post.key].with_entry(entry_of(post, was=posts[post.key].entry)) for post in given]
    except (TypeError, ValueError) as error:
        raise hooks.failed("contents", f"gave back a post that cannot be used: {error}") from error


def restricted(hooks: Hooks, context: Context, post: Post) -> Post:
    """Apply the hook `announce_restriction`. Raises HookFailed."""
    if "announce_restriction" not in hooks:
        return post
    answer = hooks.call("announce_restriction", context=context, post=_one_shown(post))
    try:
        return post.with_entry(replace(post.entry, announce=override(answer, post.announce)))
    except ValueError as error:
        raise hooks.failed("announce_restriction", f"gave back {answer!r:.100}: {error}") from error


def announcement(hooks: Hooks, kind: str, context: Context, post: Post) -> str:
    """Return a channel hook's announcement; "" skips the post. Raises HookFailed."""
    answer = hooks.call(kind, context=context, post=_one_shown(post))
    return without_controls(_text(hooks, kind, answer)).strip()[:MAX_ANNOUNCEMENT]


def subject_of(subscribable: Subscribable, posts: Sequence[Post]) -> str:
    """Return the hook's subject; "" for the usual one. Raises HookError."""
    hooks = hooks_of(subscribable)
    if "subject" not in hooks or not posts:
        return ""
    answer = hooks.call("subject", context=context_of(subscribable), posts=_shown(posts))
    return shortened(one_line(_text(hooks, "subject", answer)), LONGEST_SUBJECT)


def recipient_params(subscribable: Subscribable) -> Callable[[Recipient], Mapping[str, str]] | None:
    """Return a function that calls the hook `template_params`, or None.

    It returns a recipient's values of %Fields%, which override all others. Call it once per letter. Both
    raise HookError.
    """
    hooks = hooks_of(subscribable)
    if "template_params" not in hooks:
        return None
    context = context_of(subscribable)

    def params_of(recipient: Recipient) -> Mapping[str, str]:
        answer = hooks.call("template_params", context=context, recipient=recipient)
        if not isinstance(answer, Mapping) or not all(
            isinstance(name, str) and isinstance(value, str) for name, value in answer.items()
        ):
            raise hooks.failed("template_params", "gave back something else than texts by name")
        return {name: without_controls(value) for name, value in answer.items()}

    return params_of


def _text(hooks: Hooks, kind: str, answer: object) -> str:
    if not isinstance(answer, str | None):
        raise hooks.failed(kind, f"gave back {answer!r:.100}, which is no text")
    return answer or ""


def _shown(posts: Sequence[Post]) -> list[Shown]:
    return [_one_shown(post, key) for key, post in enumerate(posts)]


def _one_shown(post: Post, key: int = 0) -> Shown:
    return post_of(post.entry, key=key, feed_url=post.feed_url)
