"""URLs of issues, for letters and posts. Private newsletters have none."""

from delivery.models import Issue
from subscriptions.links import page_url
from subscriptions.models import Subscribable


def archive_url(subscribable: Subscribable) -> str:
    """Return the archive's URL, or ""."""
    page = page_url(subscribable)
    return f"{page}archive/" if page else ""


def issue_url(issue: Issue) -> str:
    """Return the issue's URL, or "" if it has no page."""
    archive = archive_url(issue.subscribable) if issue.has_page else ""
    return f"{archive}{issue.pk}/" if archive else ""
