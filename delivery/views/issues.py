"""Newsletters and issues visible to readers."""

from dataclasses import dataclass, replace

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404

from channels.activitypub.channel import ActivityPubChannel
from channels.activitypub.message import ACTIVITY_JSON
from common.db.prepared import Prepared
from common.text import one_line, shortened
from delivery.issues.contents import note_html
from delivery.letters.pages import with_surroundings
from delivery.links import issue_url
from delivery.models import Issue
from delivery.models.issue import NOT_ON_PAGES
from delivery.rendering.page_posts import (
    LONGEST_PAGE_DESCRIPTION,
    Shown,
    note_on_page,
    part_of,
    shown_posts,
    summary_of,
)
from delivery.rendering.posts import picture_of
from feeds.parsing.entry import Entry
from subscriptions.branding.brands import Brand, Latest
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.newsletters.rhythm import rhythm

# On a newsletter's page.
LATEST_POSTS_SHOWN = 3
WITH_PAGES = Prepared(lambda name: Subscribable.objects.with_pages().named(name))


@dataclass(frozen=True, slots=True)
class Share:
    """Link preview. `is_wide`: the image is a post's picture, not a logo."""

    url: str
    title: str
    site: str
    description: str = ""
    image: str = ""
    is_wide: bool = False
    type: str = "website"


def share_of(newsletter: Subscribable, brand: Brand, latest: Latest | None) -> Share:
    """Return a newsletter's link preview, with its newest picture or its own."""
    name = str(newsletter)
    picture = latest.picture if latest else ""
    return Share(
        url=page_url(newsletter),
        title=name,
        site=name,
        description=shortened(
            one_line(newsletter.description) or rhythm(newsletter), LONGEST_PAGE_DESCRIPTION
        ),
        image=picture or brand.header_picture_url or brand.logo_url,
        is_wide=bool(picture or brand.header_picture_url),
    )


def shown_of(issue: Issue) -> Shown:
    entries = [Entry.from_json(item.entry) for item in issue.issue_items.all()]
    shown = shown_posts(entries, newsletter_language=issue.subscribable.language)
    if not issue.note_top and not issue.note_foot and not issue.corrected:
        return shown
    notes = note_html(issue.note_top), note_html(issue.note_foot) + issue.corrected
    top, foot = map(note_on_page, notes)
    return replace(shown, note_top=top, note_foot=foot)


def latest_of(newsletter: Subscribable) -> Latest | None:
    issue = published(newsletter).first()
    return part_of_issue(issue, newsletter) if issue else None


def part_of_issue(issue: Issue, newsletter: Subscribable) -> Latest:
    """Return an issue with the beginnings of its first posts."""
    issue.subscribable = newsletter  # saves a query
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


def newsletter_or_404(name: str) -> Subscribable:
    """Return the newsletter if it has pages, as private ones don't."""
    found = WITH_PAGES.first(name) if "\0" not in name else None
    if found is None:
        raise Http404
    return found


def name_activity(response: HttpResponse, newsletter: Subscribable, address: str) -> None:
    """Name a page's ActivityPub document, for servers whose users search for the page's address."""
    if ActivityPubChannel.key in newsletter.companions.split():
        response.headers["Link"] = f'<{address}>; rel="alternate"; type="{ACTIVITY_JSON}"'


def published(newsletter: Subscribable) -> QuerySet[Issue]:
    """Return published issues, newest first, without html and text."""
    out = newsletter.issues.filter(~NOT_ON_PAGES, published_at__isnull=False)
    return out.defer("html", "text").order_by("-published_at", "-pk")


def issue_or_404(name: str, pk: int) -> Issue:
    """Return a visible issue with newsletter and surroundings, in one query."""
    shown = Issue.objects.filter(
        ~NOT_ON_PAGES, subscribable__in=Subscribable.objects.with_pages().named(name)
    )
    out = shown.filter(published_at__isnull=False).select_related("subscribable").defer("html", "text")
    return get_object_or_404(with_surroundings(out), pk=pk)
