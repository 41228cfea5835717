from common.ports.hooks import Hooks, load
from feeds.models import Feed
from feeds.parsing.entry import Entry
from subscriptions.hooks import Context, post_of
from subscriptions.models import Subscribable


def hooks_of(subscribable: Subscribable) -> Hooks:
    """Raises HookRefused."""
    return load(subscribable.hooks)


def context_of(subscribable: Subscribable) -> Context:
    return Context(
        newsletter=subscribable.name,
        title=str(subscribable),
        channel=subscribable.channel,
        arrangement=subscribable.arrangement,
        zone=subscribable.zone,
        language=subscribable.language,
        feed_urls=tuple(subscribable.feeds.order_by("pk").values_list("url", flat=True)),
        params=dict(subscribable.params),
    )


def is_wanted(subscribable: Subscribable, entry: Entry, *, feed: Feed) -> bool:
    """Return True without a hook. Raises HookError."""
    hooks = hooks_of(subscribable)
    if "filter" not in hooks:
        return True
    post = post_of(entry, feed_url=feed.url)
    answer = hooks.call("filter", context=context_of(subscribable), post=post)
    if not isinstance(answer, bool):
        raise hooks.failed("filter", f"gave back {answer!r:.100}, neither True nor False")
    return answer
