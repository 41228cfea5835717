"""The archive: a list, single issues, and RSS 2.0 (https://www.rssboard.org/rss-specification)."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode
from xml.sax.xmlreader import AttributesImpl

from django.core.paginator import Paginator
from django.db.models import Q, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.feedgenerator import Rss201rev2Feed
from django.utils.html import format_html, format_html_join
from django.utils.http import http_date, quote_etag
from django.utils.safestring import SafeString
from django.utils.xmlutils import SimplerXMLGenerator
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from channels.activitypub.message import object_id
from common.directions import language_tag
from common.text import one_line, without_controls
from delivery.bridges.records import records_of
from delivery.issues.contents import with_words
from delivery.letters.pages import issue_page
from delivery.links import archive_url, issue_url
from delivery.models import Issue, IssueCard
from delivery.rendering.page_posts import PagePost, Shown
from delivery.rules.hub import push_headers
from delivery.views.issues import issue_or_404, name_activity, newsletter_or_404, published, shown_of
from delivery.views.newsletter import sign_up_form
from delivery.webhooks.hub import FEED_TYPE, hub_url, topic_of
from subscriptions.branding.brands import Brand, brand_of
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.views.pages import POLICY, page

IN_THE_FEED = 20
# Increase when the same issues are written differently.
FEED_VERSION = "3"
ISSUES_ON_A_PAGE = 50
# With fewer, reading is as fast as searching.
TOO_FEW_TO_SEARCH = 12
LONGEST_ARCHIVE_SEARCH = 100
TITLES_SHOWN = 10
# Custom templates may contain styles, but no scripts.
OWN_STYLES = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


@require_safe
@cache_control(public=True, max_age=300)
def feed(request: HttpRequest, name: str) -> HttpResponse:
    """Return the newest issues, or 304."""
    newsletter = newsletter_or_404(name)
    issues, brand = list(published(newsletter)[:IN_THE_FEED]), brand_of(newsletter)
    changed = issues[0].published_at if issues else newsletter.created_at
    is_edited = any(issue.version for issue in issues)
    modified = int(changed.timestamp()) if changed and not is_edited else None
    # Covers all of the feed's contents.
    told: list[object] = [FEED_VERSION, page_url(newsletter)]
    told += [newsletter.title, newsletter.description, newsletter.language, brand]
    told += [(issue.pk, issue.version, issue.title, issue.published_at) for issue in issues]
    etag = quote_etag(hashlib.sha256(repr(told).encode()).hexdigest()[:32])
    response: HttpResponse | None = get_conditional_response(request, etag, modified)
    if response is None:
        response = HttpResponse(_document(newsletter, issues, brand), content_type=FEED_TYPE)
    # As a full response would (RFC 9110 §15.4.5).
    response.headers["ETag"] = etag
    response.headers["Link"] = push_headers(hub=hub_url(), topic=topic_of(newsletter))["Link"]
    if modified is not None:
        response.headers["Last-Modified"] = http_date(modified)
    return response


def feed_document(newsletter: Subscribable) -> bytes:
    return _document(newsletter, list(published(newsletter)[:IN_THE_FEED]), brand_of(newsletter))


def _document(newsletter: Subscribable, issues: list[Issue], brand: Brand) -> bytes:
    prefetch_related_objects(issues, "issue_items")
    for issue in issues:
        issue.subscribable = newsletter  # saves a query
    posts = [(issue, shown_of(issue)) for issue in issues]
    changed = issues[0].published_at if issues else newsletter.created_at
    return rss(newsletter, posts, brand=brand, changed=changed)


def rss(
    newsletter: Subscribable,
    issues: Sequence[tuple[Issue, Shown]],
    *,
    brand: Brand,
    changed: datetime | None = None,
) -> bytes:
    """Return an RSS 2.0 document. Items hold a summary and the full posts."""
    page = page_url(newsletter)
    # Readers refuse feeds with control characters (XML 1.0 §2.2).
    document = IssuesFeed(
        title=one_line(str(newsletter)),
        link=page,
        description=one_line(newsletter.description or str(newsletter)),
        language=language_tag(newsletter.language) or None,
        feed_url=f"{page}feed.xml",
        logo=brand.logo_url,
        changed=changed,
    )
    for issue, shown in issues:
        # Posts between the editor's notes.
        posts = format_html_join("\n", "<h2>{}</h2>\n{}{}", map(_pieces, shown.posts))
        parts = ((part,) for part in (shown.note_top, posts, shown.note_foot) if part)
        document.add_item(
            title=one_line(issue.title),
            link=issue_url(issue),
            description=shown.summary or one_line(issue.title),
            unique_id=issue_url(issue),
            unique_id_is_permalink=True,
            pubdate=issue.published_at,
            content=without_controls(format_html_join("\n", "{}", parts)),
        )
    return document.writeString("utf-8").encode()


class IssuesFeed(Rss201rev2Feed):
    """RSS with an image and content:encoded.

    See https://www.rssboard.org/rss-profile#namespace-elements-content.
    """

    def rss_attributes(self) -> dict[str, str]:
        attributes: dict[str, str] = super().rss_attributes()
        return {**attributes, "xmlns:content": "http://purl.org/rss/1.0/modules/content/"}

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        handler.addQuickElement("atom:link", None, {"rel": "hub", "href": hub_url()})
        if not self.feed["logo"]:
            return
        handler.startElement("image", AttributesImpl({}))
        # An image has its channel's title and link.
        for name, value in (("url", "logo"), ("title", "title"), ("link", "link")):
            handler.addQuickElement(name, self.feed[value])
        handler.endElement("image")

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, item)
        handler.addQuickElement("content:encoded", item["content"])

    def latest_post_date(self) -> datetime:
        return self.feed["changed"] or super().latest_post_date()


def _pieces(post: PagePost) -> tuple[str, SafeString, str]:
    title = format_html('<a href="{}">{}</a>', post.link, post.title) if post.link else post.title
    rows = ((image.url, image.words) for image in post.images)
    return title, format_html_join("", '<p><img src="{}" alt="{}"></p>\n', rows), post.html


@require_safe
@page
@cache_control(public=True, max_age=60)
def archive(request: HttpRequest, name: str) -> HttpResponse:
    """List a newsletter's issues by year, newest first, with their posts' titles."""
    newsletter = newsletter_or_404(name)
    every, zone = published(newsletter), newsletter.zone
    years = [first.year for first in every.datetimes("published_at", "year", order="DESC", tzinfo=zone)]
    year = request.GET.get("year", "")
    chosen = int(year) if year.isdecimal() and len(year) == 4 else 0
    words = one_line(request.GET.get("q", "")[:LONGEST_ARCHIVE_SEARCH])
    chosen = chosen if chosen in years else 0
    found = with_words(words)
    if chosen:
        begins, ends = (datetime(each, 1, 1, tzinfo=zone) for each in (chosen, chosen + 1))
        found &= Q(published_at__gte=begins, published_at__lt=ends)
    keys = every.filter(found).values_list("pk", flat=True)
    # A search is read once, not again for counting.
    issues = Paginator(list(keys) if words else keys, ISSUES_ON_A_PAGE)
    shown = issues.get_page(request.GET.get("page"))
    rows = every.filter(pk__in=list(shown)).select_related("card").defer("html", "text", "card__words")
    by_year = groupby(rows, lambda row: row.published_at and row.published_at.astimezone(zone).year)
    page = shown.number if shown.number > 1 else 0
    query = urlencode({name: value for name, value in (("year", chosen), ("page", page)) if value})
    context = {
        "newsletter": newsletter,
        "address": archive_url(newsletter) + (query and f"?{query}"),
        "issues": shown,
        "by_year": [(year_, [(row, _titles_of(row)) for row in of_it]) for year_, of_it in by_year],
        "years": years,
        "wanted": {"year": chosen, "words": words},
        "has_search": bool(words) or (every.count() if chosen else issues.count) > TOO_FEW_TO_SEARCH,
    }
    return render(request, "pages/archive.html", context)


def _titles_of(issue: Issue) -> dict[str, Any] | None:
    """Return titles not already in the issue's, or None."""
    card: IssueCard | None = getattr(issue, "card", None)
    if card is None:
        return None
    is_said = bool(card.titles) and issue.title.startswith(card.titles[0].rstrip("…."))
    titles = card.titles[is_said:]
    return {"shown": titles[:TITLES_SHOWN], "more": len(titles[TITLES_SHOWN:])} if titles else None


@require_safe
@page
@cache_control(public=True, max_age=300)
def issue(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Show an issue as sent, without reader's fields."""
    found = issue_or_404(name, pk)
    form = partial(sign_up_form, found.subscribable)
    records = records_of(found.subscribable, issue_id=pk)
    html, is_own = issue_page(found, read=partial(shown_of, found), form=form, records=records)
    response = HttpResponse(html)
    name_activity(response, found.subscribable, object_id(issue_url(found)))
    if is_own:
        response.headers["Content-Security-Policy"] = OWN_STYLES
    return response
