"""A letter as it would look now: for “send me a test” and previews, from the newest posts we have."""

import zlib
from datetime import datetime

from delivery.rules.announcing import announced
from delivery.services.facts import Collected, Post
from feeds.models import Feed, FeedDocument
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, ParseError
from feeds.services.reading import clean_entry
from subscriptions.models import Subscribable

POSTS_IN_A_DIGEST = 5


class NothingToShow(ValueError):
    """The newsletter's feeds have no posts yet."""


def sample(subscribable: Subscribable, *, now: datetime) -> Collected:
    """The newest posts of the newsletter's feeds as a collection. Raises NothingToShow."""
    wanted = (
        1
        if subscribable.arrangement == Subscribable.Arrangement.EACH
        else subscribable.n or POSTS_IN_A_DIGEST
    )
    entries = [entry for feed in subscribable.feeds.all() for entry in _kept_entries(feed, wanted)]
    if not entries:
        raise NothingToShow("There is no post to show yet: its feeds have not been read, or are empty.")
    entries = announced(entries) or entries
    entries.sort(key=lambda entry: entry.published.timestamp() if entry.published else 0, reverse=True)
    return Collected(
        subscribable=subscribable,
        within_type_id="sample",
        period_start=now,
        period_end=now,
        posts=tuple(Post(0, 0, entry) for entry in entries[:wanted]),
    )


def _kept_entries(feed: Feed, count: int) -> list[Entry]:
    document = FeedDocument.objects.filter(feed=feed).first()
    if document is None:
        return []
    headers = document.headers
    url = headers.get("url", feed.url)
    try:
        parsed = parse(
            zlib.decompress(bytes(document.body)), content_type=headers.get("content-type", ""), url=url
        )
    except ParseError:
        return []
    return [clean_entry(entry, url) for entry in parsed.entries[:count]]
