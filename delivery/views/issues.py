"""What readers may see of newsletters and issues."""

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from common.db.prepared import Prepared
from delivery.letters.pages import with_surroundings
from delivery.models import Issue
from delivery.models.issue import FOR_SOME
from subscriptions.models import Subscribable

WITH_PAGES = Prepared(lambda name: Subscribable.objects.with_pages().named(name))


def newsletter_or_404(name: str) -> Subscribable:
    """The newsletter of that name if it has pages at all: the private have none."""
    found = WITH_PAGES.first(name) if "\0" not in name else None
    if found is None:
        raise Http404
    return found


def published(newsletter: Subscribable) -> QuerySet[Issue]:
    """Its issues, newest first, without their letters; one that waits for approval is not out yet."""
    out = newsletter.issues.filter(~FOR_SOME, published_at__isnull=False)
    return out.defer("html", "text").order_by("-published_at", "-pk")


def issue_or_404(name: str, pk: int) -> Issue:
    """The issue, its newsletter and what stands around it, if readers may see them. One query."""
    shown = Issue.objects.filter(~FOR_SOME, subscribable__in=Subscribable.objects.with_pages().named(name))
    out = shown.filter(published_at__isnull=False).select_related("subscribable").defer("html", "text")
    return get_object_or_404(with_surroundings(out), pk=pk)
