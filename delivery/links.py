"""Addresses of a newsletter's issues, for letters and statuses. Empty for a private one: it has no pages."""

from delivery.models import Issue
from subscriptions.links import page_url
from subscriptions.models import Subscribable


def archive_url(subscribable: Subscribable) -> str:
    """The page of its past issues."""
    page = page_url(subscribable)
    return f"{page}archive/" if page else ""


def issue_url(issue: Issue) -> str:
    """The issue's own page. Empty for a letter to some readers, too."""
    archive = "" if issue.is_for_some else archive_url(issue.subscribable)
    return f"{archive}{issue.pk}/" if archive else ""
