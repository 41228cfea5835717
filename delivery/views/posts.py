"""The posts of an issue, as pages show them."""

from dataclasses import replace

from delivery.issues.contents import note_html
from delivery.links import issue_url
from delivery.models import Issue
from delivery.rendering.page_posts import Shown, note_on_page, part_of, picture_of, shown_posts, summary_of
from delivery.views.issues import published
from feeds.parsing.entry import Entry
from subscriptions.branding.brands import Latest
from subscriptions.models import Subscribable

# Posts of the latest issue that stand on a newsletter's page.
LATEST_POSTS_SHOWN = 3


def shown_of(issue: Issue) -> Shown:
    """The posts of an issue, in its order."""
    entries = [Entry.from_json(item.entry) for item in issue.issue_items.all()]
    shown = shown_posts(entries, newsletter_language=issue.subscribable.language)
    if not issue.note_top and not issue.note_foot:
        return shown
    top, foot = (note_on_page(note_html(note)) for note in (issue.note_top, issue.note_foot))
    return replace(shown, note_top=top, note_foot=foot)


def latest_of(newsletter: Subscribable) -> Latest | None:
    """The newest issue that is out, in part."""
    issue = published(newsletter).first()
    return part_of_issue(issue, newsletter) if issue else None


def part_of_issue(issue: Issue, newsletter: Subscribable) -> Latest:
    """An issue with the beginnings of its first posts."""
    issue.subscribable = newsletter  # saves asking for it once more
    items = issue.issue_items.all()
    entries = [Entry.from_json(item.entry) for item in items[:LATEST_POSTS_SHOWN]]
    posts = [part_of(entry, newsletter_language=newsletter.language) for entry in entries]
    return Latest(
        title=issue.title,
        url=issue_url(issue),
        published=issue.published_at or issue.created_at,
        posts=posts,
        is_cut=any(post.is_cut for post in posts),
        more=items.count() - LATEST_POSTS_SHOWN if len(entries) == LATEST_POSTS_SHOWN else 0,
        summary=summary_of(entries),
        picture=next(filter(None, map(picture_of, entries)), ""),
    )
