"""A reader's feeds as OPML, to take along."""

from collections.abc import Iterator
from datetime import datetime

from feeds.models import Feed
from feeds.parsing.opml import Listed, write_opml
from reader.models import Follow, Reader


def export_follows(reader: Reader, *, now: datetime) -> Iterator[str]:
    """The lines of an OPML file: each feed with the names of its channels; never with credentials."""
    rows = Follow.objects.filter(channel__reader=reader).select_related("feed", "channel")
    found: dict[int, tuple[Feed, list[str]]] = {}
    for row in rows.order_by("channel__position", "channel", "feed__title", "pk"):
        found.setdefault(row.feed_id, (row.feed, []))[1].append(row.channel.name)
    listed = (
        Listed(feed.url, feed.title, feed.site_url, feed.language, tuple(names))
        for feed, names in found.values()
    )
    return iter(write_opml(listed, title=f"Feeds of {reader}", created=now))
