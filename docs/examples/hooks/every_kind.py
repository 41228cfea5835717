"""One hook of each kind. A module defines only the ones it needs."""

from datetime import datetime


def filter(*, context, post):
    """Return whether the newsletter takes the post."""
    return "draft" not in post.categories


def contents(*, context, posts):
    """Return the posts of an issue: fewer, reordered or changed."""
    updates = [post for post in posts if post.title.startswith("Update: ")]
    originals = [post for post in posts if post not in updates]
    titles = {post.title for post in originals}
    # Updates are last, and left out if the issue has the post itself.
    return originals + [post for post in updates if post.title.removeprefix("Update: ") not in titles]


def subject(*, context, posts):
    """Return the subject of an issue, or None for the default."""
    if len(posts) == 1:
        return f"{context.title}: {posts[0].title}"
    return f"{context.title}: {posts[0].title} and {len(posts) - 1} more"


def announce_restriction(*, context, post):
    """Return "always", "never", "piggyback", or None for the publisher's choice."""
    return "piggyback" if "housekeeping" in post.categories else None


def mastodon_announcement(*, context, post):
    """Return the status for a post, or None to skip it."""
    if not post.title:
        return None
    tags = " ".join(f"#{category.replace(' ', '')}" for category in post.categories[:3])
    return f"New on the blog: {post.title}\n\n{post.link}\n\n{tags}"


def bluesky_announcement(*, context, post):
    """Return the text of a post on Bluesky, or None to skip it."""
    return f"{post.title} {post.link}"


def template_params(*, context, recipient):
    """Return values of %Fields% for one subscriber."""
    hour = datetime.now(context.zone).hour
    greeting = "Good morning" if hour < 12 else "Good day"
    return {"greeting": f"{greeting}, {recipient.name}" if recipient.name else greeting}
