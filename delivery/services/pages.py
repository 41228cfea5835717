"""The page of an issue in the archive, by the newsletter's own template if it has one."""

import hashlib
import logging
import pickle
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.core.cache import cache
from django.templatetags.static import static
from django.urls import reverse

from delivery.models import Issue
from delivery.rendering.page import ISSUE, Link, PageFacts, render_page
from delivery.rendering.page_posts import Post
from delivery.rendering.rendered import LetterError
from delivery.services.own_templates import own_source
from delivery.services.theming import theme_of
from subscriptions.models import Subscribable
from subscriptions.services.signing_up import is_open

log = logging.getLogger(__name__)
# A sandbox costs more than a visit should.
KEPT_SECONDS = 300


def issue_page(
    issue: Issue, *, posts: Sequence[Post], earlier: Issue | None, later: Issue | None
) -> tuple[str, bool]:
    """The html, and whether an admin wrote its template. Where that breaks, ours is used."""
    newsletter = issue.subscribable
    facts = replace(
        _facts(newsletter, title=issue.title, published=issue.published_at or issue.created_at, pk=issue.pk),
        posts=tuple(posts),
        earlier=_link(newsletter, earlier),
        later=_link(newsletter, later),
    )
    source = own_source(newsletter, ISSUE)
    html = _kept(replace(facts, own=source, theme=theme_of(newsletter))) if source else ""
    return (html, True) if html else (render_page(facts), False)


def made_up_page(subscribable: Subscribable, posts: Sequence[Post], *, now: datetime) -> PageFacts:
    """The page that an issue with these posts would have now."""
    title = posts[0].title if len(posts) == 1 else f"{len(posts)} new posts"
    facts = _facts(subscribable, title=title, published=now, pk=0)
    neighbour = Link(facts.archive_url, "The issue before")
    return replace(facts, posts=tuple(posts), earlier=neighbour, theme=theme_of(subscribable))


def _facts(newsletter: Subscribable, *, title: str, published: datetime, pk: int) -> PageFacts:
    name = newsletter.name
    return PageFacts(
        newsletter=str(newsletter),
        title=title,
        published=published,
        posts=(),
        page_url=reverse("delivery:newsletter", args=[name]),
        archive_url=reverse("delivery:archive", args=[name]),
        issue_url=f"{settings.SITE_URL}/s/{name}/archive/{pk}/",
        stylesheet=static("feedletter/site.css"),
        icon=static("feedletter/favicon.svg"),
        description=newsletter.description,
        language=newsletter.language,
        time_zone=newsletter.time_zone,
        params=dict(newsletter.params),
        is_open=is_open(newsletter),
        is_listed=newsletter.visibility == Subscribable.Visibility.PUBLIC,
    )


def _link(newsletter: Subscribable, issue: Issue | None) -> Link | None:
    return Link(reverse("delivery:issue", args=[newsletter.name, issue.pk]), issue.title) if issue else None


def _kept(facts: PageFacts) -> str:
    key = "page:" + hashlib.sha256(pickle.dumps(facts)).hexdigest()
    html = cache.get(key)
    if html is None:
        html = _tried(facts)
        cache.set(key, html, KEPT_SECONDS)
    return str(html)


def _tried(facts: PageFacts) -> str:
    """Empty if the template breaks; that is kept, too."""
    try:
        return render_page(facts)
    except LetterError as error:
        log.warning("%s of %s: the default is used", ISSUE, facts.newsletter, exc_info=error)
        return ""
