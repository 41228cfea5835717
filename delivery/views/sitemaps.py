"""Sitemaps of public pages: an index, and the pages of each newsletter.

See https://www.sitemaps.org/protocol.html.
"""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from common.ports import channels as kinds
from delivery.links import archive_url
from delivery.views.issues import newsletter_or_404, published
from subscriptions.links import page_url
from subscriptions.models import Subscribable

# The protocol's limit. The archive leads to older issues.
MOST_SITEMAPS, MOST_ISSUES = 50_000, 10_000
DOCUMENT = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<{0} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{1}\n</{0}>\n'
)
kept_an_hour = cache_control(public=True, max_age=3600)


@require_safe
@kept_an_hour
def sitemap_index(request: HttpRequest) -> HttpResponse:
    """Name the sitemap of each newsletter that people can subscribe to."""
    channels = [kind.key for kind in kinds.person_kinds()]
    shown = Subscribable.objects.filter(visibility=Subscribable.Visibility.PUBLIC, channel__in=channels)
    names = shown.order_by("pk").values_list("name", flat=True)[:MOST_SITEMAPS]
    return _document("sitemapindex", "sitemap", ((f"{_site(name)}sitemap.xml", None) for name in names))


@require_safe
@kept_an_hour
def sitemap(request: HttpRequest, name: str) -> HttpResponse:
    """List a newsletter's page, its archive and its newest issues."""
    newsletter = newsletter_or_404(name)
    if newsletter.visibility != Subscribable.Visibility.PUBLIC:
        raise Http404
    archive = archive_url(newsletter)
    issues = published(newsletter).values_list("pk", "published_at")[:MOST_ISSUES]
    rows = [(f"{archive}{pk}/", moment) for pk, moment in issues]
    newest = rows[0][1] if rows else None
    return _document("urlset", "url", [(page_url(newsletter), newest), (archive, newest), *rows])


def _site(name: str) -> str:
    return f"{settings.SITE_URL}/s/{name}/"


def _document(root: str, entry: str, rows: Iterable[tuple[str, datetime | None]]) -> HttpResponse:
    moments = ((url, moment.isoformat(timespec="seconds") if moment else "") for url, moment in rows)
    lines = (
        (entry, url, format_html("<lastmod>{}</lastmod>", moment) if moment else "")
        for url, moment in moments
    )
    body = format_html_join("\n", "<{0}><loc>{1}</loc>{2}</{0}>", lines)
    return HttpResponse(format_html(DOCUMENT, root, body), content_type="application/xml; charset=utf-8")
