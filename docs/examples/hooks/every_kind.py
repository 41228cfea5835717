"""One hook of each kind. A module needs only those that it has use for."""

from datetime import datetime


def filter(*, context, post):
    """Whether the newsletter takes the post: True or False."""
    return "draft" not in post.categories


def contents(*, context, posts):
    """The posts of a letter: fewer of them, in another order, or changed."""
    updates = [post for post in posts if post.title.startswith("Update: ")]
    originals = [post for post in posts if post not in updates]
    titles = {post.title for post in originals}
    # Updates come last, and not at all beside the post that they are about.
    return originals + [post for post in updates if post.title.removeprefix("Update: ") not in titles]


def subject(*, context, posts):
    """The subject of a letter; None for the usual one."""
    if len(posts) == 1:
        return f"{context.title}: {posts[0].title}"
    return f"{context.title}: {posts[0].title} and {len(posts) - 1} more"


def announce_restriction(*, context, post):
    """Whether a post is announced: "always", "never", "piggyback"; None as its publisher says."""
    return "piggyback" if "housekeeping" in post.categories else None


def mastodon_announcement(*, context, post):
    """The status for a post; None to skip it."""
    if not post.title:
        return None
    tags = " ".join(f"#{category.replace(' ', '')}" for category in post.categories[:3])
    return f"New on the blog: {post.title}\n\n{post.link}\n\n{tags}"


def bluesky_announcement(*, context, post):
    """The words of a post on Bluesky, whose card has the link; None to skip it."""
    return f"{post.title} {post.link}"


def template_params(*, context, recipient):
    """Values of %Fields% for one reader."""
    hour = datetime.now(context.zone).hour
    greeting = "Good morning" if hour < 12 else "Good day"
    return {"greeting": f"{greeting}, {recipient.name}" if recipient.name else greeting}
