"""Addresses of a newsletter's pages, for letters and statuses."""

from django.conf import settings

from subscriptions.models import Subscribable


def archive_url(subscribable: Subscribable) -> str:
    """Past issues; empty for a private newsletter, which has no pages."""
    if subscribable.visibility == Subscribable.Visibility.PRIVATE:
        return ""
    return f"{settings.SITE_URL}/s/{subscribable.name}/archive/"


def page_url(subscribable: Subscribable) -> str:
    if subscribable.visibility == Subscribable.Visibility.PRIVATE:
        return ""
    return f"{settings.SITE_URL}/s/{subscribable.name}/"
