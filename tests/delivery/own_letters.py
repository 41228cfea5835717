"""A newsletter's own templates, for tests."""

import zlib
from datetime import timedelta
from typing import Any

from delivery.letters.templates import save_template
from delivery.models import LetterTemplate
from delivery.rendering.facts import TemplateSource
from subscriptions.models import Subscribable
from tests.factories import NOW, FeedDocumentFactory, FeedFactory
from tests.servers.documents import rss


def a_read_feed(posts: int = 3) -> Any:
    """Return a feed whose last document has that many posts, newest first."""
    feed = FeedFactory()
    entries = [
        {
            "guid": f"p{number}",
            "link": f"https://blog.example/p{number}",
            "title": f"Post {number}",
            "published": NOW - timedelta(hours=number + 1),
        }
        for number in range(posts)
    ]
    headers = {"content-type": "application/rss+xml", "url": feed.url}
    FeedDocumentFactory(feed=feed, body=zlib.compress(rss(entries)), headers=headers)
    return feed


def saved(subscribable: Subscribable, name: str, html: str, **parts: str) -> LetterTemplate:
    """Save a template as its admin would."""
    source = TemplateSource(html=html, **parts)
    return save_template(subscribable=subscribable, name=name, source=source, author="ada", now=NOW)


def kept(subscribable: Subscribable, name: str, html: str, **parts: Any) -> LetterTemplate:
    """Store a template without validation, as one that broke later."""
    return LetterTemplate.objects.create(subscribable=subscribable, name=name, html=html, **parts)
