"""Templates of a newsletter's own, for tests."""

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
    """A feed whose last document holds that many posts, the newest first."""
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
    """As its admin would."""
    source = TemplateSource(html=html, **parts)
    return save_template(subscribable=subscribable, name=name, source=source, author="ada", now=NOW)


def kept(subscribable: Subscribable, name: str, html: str, **parts: Any) -> LetterTemplate:
    """A template that is there without having been tried: one that broke later."""
    return LetterTemplate.objects.create(subscribable=subscribable, name=name, html=html, **parts)
