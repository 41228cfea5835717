"""Past issues: the list, one issue, and all of them as RSS."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from delivery.services.pages import issue_page
from delivery.views.issues import newsletter_or_404, published
from delivery.views.posts import posts_of
from delivery.views.rss import rss
from subscriptions.views.security import POLICY, page

ON_A_PAGE = 50
IN_THE_FEED = 20
# What an admin wrote may bring its styles along; scripts it may not.
OWN_STYLES = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


@require_safe
@page
def archive(request: HttpRequest, name: str) -> HttpResponse:
    """The issues of a newsletter, newest first."""
    newsletter = newsletter_or_404(name)
    issues = Paginator(published(newsletter).defer("html", "text"), ON_A_PAGE)
    shown = issues.get_page(request.GET.get("page"))
    return render(request, "pages/archive.html", {"newsletter": newsletter, "issues": shown})


@require_safe
@page
def issue(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One issue as it stood, without anybody's name in it: fields belong to letters."""
    newsletter = newsletter_or_404(name)
    issues = published(newsletter).defer("html", "text")
    found = get_object_or_404(issues, pk=pk)
    found.subscribable = newsletter  # saves asking for it once more
    moment = found.published_at
    html, is_own = issue_page(
        found,
        posts=posts_of(found),
        earlier=issues.filter(published_at__lt=moment).first(),
        later=issues.filter(published_at__gt=moment).order_by("published_at", "pk").first(),
    )
    response = HttpResponse(html)
    if is_own:
        response.headers["Content-Security-Policy"] = OWN_STYLES
    return response


@require_safe
def feed(request: HttpRequest, name: str) -> HttpResponse:
    """The newest issues as RSS 2.0."""
    newsletter = newsletter_or_404(name)
    issues = published(newsletter).defer("html", "text").prefetch_related("issue_items")[:IN_THE_FEED]
    body = rss(newsletter, [(one, posts_of(one)) for one in issues])
    return HttpResponse(body, content_type="application/rss+xml; charset=utf-8")
