"""The posts of an issue, as pages show them."""

from delivery.models import Issue
from delivery.rendering.page_posts import File, Post, post

__all__ = ["File", "Post", "post", "posts_of"]


def posts_of(issue: Issue) -> list[Post]:
    """The posts of an issue, in its order."""
    return [post(item.entry) for item in issue.issue_items.all()]
