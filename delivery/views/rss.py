"""Issues as RSS."""

from collections.abc import Iterable

from django.conf import settings
from django.utils.feedgenerator import Rss201rev2Feed
from django.utils.html import format_html, format_html_join

from common.text import without_controls
from delivery.models import Issue
from delivery.views.posts import Post
from subscriptions.models import Subscribable


def rss(newsletter: Subscribable, issues: Iterable[tuple[Issue, list[Post]]]) -> bytes:
    """An RSS 2.0 document; each issue is an item whose description holds its posts."""
    page = f"{settings.SITE_URL}/s/{newsletter.name}/"
    # A feed with a control character in it is refused by every reader (XML 1.0 §2.2).
    feed = Rss201rev2Feed(
        title=without_controls(str(newsletter)),
        link=page,
        description=without_controls(newsletter.description or str(newsletter)),
        language=newsletter.language or None,
        feed_url=f"{page}feed.xml",
    )
    for issue, posts in issues:
        url = f"{page}archive/{issue.pk}/"
        feed.add_item(
            title=without_controls(issue.title),
            link=url,
            description=without_controls(_posts(posts)),
            unique_id=url,
            pubdate=issue.published_at,
        )
    return feed.writeString("utf-8").encode()


def _posts(posts: list[Post]) -> str:
    rows = ((_title(post), post.html) for post in posts)
    return format_html_join("\n", "<h2>{}</h2>\n{}", rows)


def _title(post: Post) -> str:
    return format_html('<a href="{}">{}</a>', post.link, post.title) if post.link else post.title
