"""URLs of issues, for letters and posts. Private newsletters have none."""

from delivery.models import Issue
from subscriptions.links import page_url
from subscriptions.models import Subscribable


def archive_url(subscribable: Subscribable) -> str:
    """Return the archive's URL, or ""."""
    page = page_url(subscribable)
    return f"{page}archive/" if page else ""


def issue_url(issue: Issue) -> str:
    """Return the issue's URL, or "", also for a letter to some readers."""
    archive = "" if issue.is_for_some else archive_url(issue.subscribable)
    return f"{archive}{issue.pk}/" if archive else ""
