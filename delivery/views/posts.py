"""A post as pages show it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.utils.safestring import SafeString, mark_safe

from delivery.models import Issue
from feeds.parsing.entry import Entry


@dataclass(frozen=True, slots=True)
class Post:
    """`link` and `image` are web addresses or empty; `html` is safe."""

    title: str
    link: str
    byline: str
    published: datetime | None
    html: SafeString
    image: str


def web_address(url: str) -> str:
    """The url if a browser may be sent there, else nothing: a feed may say javascript: and worse."""
    try:
        return url if urlsplit(url).scheme.lower() in {"http", "https"} else ""
    except ValueError:
        return ""


def post(entry: dict[str, Any]) -> Post:
    """The post of an IssueItem's frozen entry."""
    stood = Entry.from_json(entry)
    return Post(
        title=stood.title or stood.link or "Untitled",
        link=web_address(stood.link),
        byline=", ".join(stood.authors),
        published=stood.published,
        # Sanitised before it was stored (common.html.clean), once for letters and pages alike.
        html=mark_safe(stood.html),  # noqa: S308
        image=web_address(stood.image) if "<img" not in stood.html else "",
    )


def posts_of(issue: Issue) -> list[Post]:
    """The posts of an issue, in its order."""
    return [post(item.entry) for item in issue.issue_items.all()]
