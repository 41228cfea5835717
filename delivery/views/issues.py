"""What readers may see of newsletters and issues."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from delivery.models import Issue
from subscriptions.models import Subscribable


def newsletter_or_404(name: str) -> Subscribable:
    """The newsletter of that name if it has pages at all: the private have none."""
    return get_object_or_404(Subscribable.objects.with_pages(), name=name)


def published(newsletter: Subscribable) -> QuerySet[Issue]:
    """Its issues, newest first; one that waits for approval is not out yet."""
    return newsletter.issues.filter(published_at__isnull=False).order_by("-published_at", "-pk")
