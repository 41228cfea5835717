"""An issue's page in the archive, and mails other than issues in a newsletter's look."""

import hashlib
import logging
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation
from django.utils.http import int_to_base36

from channels.letter import LetterError
from common.ports.ways import accounts_among, ways_of
from common.ttl_cache import TtlCache
from delivery.customisation import own_source, site_theme, theme_of
from delivery.models import Issue, IssueVersion, LetterTemplate
from delivery.models.issue import NOT_ON_PAGES
from delivery.rendering.errors import Rendered
from delivery.rendering.facts import USUAL_THEME, TemplateSource
from delivery.rendering.mail import render_mail
from delivery.rendering.page_posts import (
    FORM,
    ISSUE_PAGE,
    NO_RECORDS,
    Link,
    PageFacts,
    Records,
    Shown,
    post_of,
    render_page,
)
from delivery.rendering.subjects import title as issue_title
from feeds.parsing.entry import Entry
from subscriptions.branding.brands import site_facts
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.subscribers.sign_up import is_open

log = logging.getLogger(__name__)
# Key in a preview's links, which lead to a page that says that they don't work.
NOBODYS_KEY = "preview"
PASSWORD_RESET = "password_reset"  # noqa: S105 - a template's name
INVITATION, TEAM_INVITATION = "invitation", "team_invitation"
# With these, others could sign in as their recipients.
ACCOUNT_MAILS = (PASSWORD_RESET, INVITATION, TEAM_INVITATION)


# Published issues don't change; changes around them show after 300 seconds.
_cache: TtlCache[tuple[str, bool]] = TtlCache(room=16_000_000, seconds=300, size=lambda page: len(page[0]))


def issue_page(
    issue: Issue, *, read: Callable[[], Shown], form: Callable[[], str], records: Records = NO_RECORDS
) -> tuple[str, bool]:
    """Return the page of an issue from `with_surroundings`, and whether it uses a custom template.

    `read` returns the posts and `form` the sign-up form. If a custom template fails, ours is used.
    """
    annotated: Any = issue
    newsletter = issue.subscribable
    around = Around(annotated.earlier_pk, annotated.later_pk, annotated.template_pk, annotated.updated_at)
    facts = replace(
        _facts(newsletter, title=issue.title, published=issue.published_at or issue.created_at, pk=issue.pk),
        theme=theme_of(newsletter) if around.template else USUAL_THEME,
        records=records,
    )
    form_facts = (newsletter.challenge, newsletter.offers_devices)
    key = hashlib.sha256(pickle.dumps((issue.token, issue.version, form_facts, around, facts))).hexdigest()
    return _cache.get(key, lambda: _made(facts, newsletter, around, read=read, form=form))


def with_surroundings(issues: QuerySet[Issue]) -> QuerySet[Issue]:
    """Annotate neighbours' and template's keys, in one query."""
    out = Issue.objects.filter(
        ~NOT_ON_PAGES, subscribable=OuterRef("subscribable"), published_at__isnull=False
    )
    moment, pk = OuterRef("published_at"), OuterRef("pk")
    before = out.filter(Q(published_at__lt=moment) | Q(published_at=moment, pk__lt=pk))
    after = out.filter(Q(published_at__gt=moment) | Q(published_at=moment, pk__gt=pk))
    own = LetterTemplate.objects.filter(
        subscribable=OuterRef("subscribable"), name=ISSUE_PAGE, is_current=True
    )
    edits = IssueVersion.objects.filter(issue=OuterRef("pk"))
    return issues.annotate(
        earlier_pk=Subquery(before.order_by("-published_at", "-pk").values("pk")[:1]),
        later_pk=Subquery(after.order_by("published_at", "pk").values("pk")[:1]),
        template_pk=Subquery(own.values("pk")[:1]),
        updated_at=Subquery(edits.order_by("-version").values("replaced_at")[:1]),
    )


@dataclass(frozen=True, slots=True)
class Around:
    earlier: int | None
    later: int | None
    template: int | None
    updated: datetime | None


def _made(
    facts: PageFacts,
    newsletter: Subscribable,
    around: Around,
    *,
    read: Callable[[], Shown],
    form: Callable[[], str],
) -> tuple[str, bool]:
    neighbours = Issue.objects.only("subscribable", "title").in_bulk(
        [pk for pk in (around.earlier, around.later) if pk]
    )
    earlier = _link(newsletter, neighbours.get(around.earlier or 0))
    later = _link(newsletter, neighbours.get(around.later or 0))
    own = own_source(newsletter, ISSUE_PAGE) if around.template else None
    shown = read()
    facts = replace(
        facts,
        updated=around.updated and around.updated.replace(microsecond=0),
        earlier=earlier,
        later=later,
        own=own,
        posts=shown.posts,
        summary=shown.summary,
        picture=shown.picture or f"{facts.issue_url}picture.png",
        accounts=accounts_among(ways_of(newsletter)),
        note_top=shown.note_top,
        note_foot=shown.note_foot,
    )
    html = None
    if own is not None:
        try:
            html = render_page(facts)
        except LetterError as error:
            log.warning("%s of %s: the default is used", ISSUE_PAGE, facts.newsletter, exc_info=error)
    is_own = html is not None
    if html is None:
        html = render_page(replace(facts, own=None, theme=USUAL_THEME))
    return html.replace(FORM, form(), 1) if FORM in html else html, is_own


def forget_pages() -> None:
    """Clear the cache. For tests, where other issues reuse keys."""
    _cache.clear()


def made_up_page(subscribable: Subscribable, entries: Sequence[Entry], *, now: datetime) -> PageFacts:
    """Return the page of an issue with these posts, published now."""
    title = issue_title(entries, subscribable.language)
    facts = _facts(subscribable, title=title, published=now, pk=0)
    neighbour = Link(facts.archive_url, "Previous issue")
    posts = tuple(post_of(entry) for entry in entries)
    return replace(facts, posts=posts, earlier=neighbour, theme=theme_of(subscribable))


def _facts(newsletter: Subscribable, *, title: str, published: datetime, pk: int) -> PageFacts:
    name = newsletter.name
    return PageFacts(
        newsletter=str(newsletter),
        title=title,
        # `datetime` attributes allow no microseconds (WHATWG HTML §2.3.5.7).
        published=published.replace(microsecond=0),
        posts=(),
        page_url=reverse("delivery:newsletter", args=[name]),
        archive_url=reverse("delivery:archive", args=[name]),
        issue_url=f"{settings.SITE_URL}/s/{name}/archive/{pk}/",
        stylesheet=static("feedletter/site.css"),
        icon=static("feedletter/favicon.svg"),
        description=newsletter.description,
        language=newsletter.language,
        reads=translation.get_language() or "",
        time_zone=newsletter.time_zone,
        params=dict(newsletter.params),
        site=site_facts(),
        is_open=is_open(newsletter),
        is_listed=newsletter.visibility == Subscribable.Visibility.PUBLIC,
    )


def _link(newsletter: Subscribable, issue: Issue | None) -> Link | None:
    return Link(reverse("delivery:issue", args=[newsletter.name, issue.pk]), issue.title) if issue else None


def reset_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mail's values. Raises LetterError if the user no longer exists."""
    pks = [int(context["user"]), *map(int, str(context.get("others", "")).split())]
    users = User.objects.filter(is_active=True).in_bulk(pks)
    links = [[users[pk].get_username(), _reset_url(users[pk])] for pk in pks if pk in users]
    if not links:
        raise LetterError("There is no such user any more.")
    return {
        "newsletter": site_facts().name,
        "user_name": links[0][0],
        "reset_url": links[0][1],
        "others": links[1:],
        "minutes": str(settings.PASSWORD_RESET_TIMEOUT // 60),
        "site_url": settings.SITE_URL,
    }


def _reset_url(user: User) -> str:
    token = default_token_generator.make_token(user)
    path = reverse("account_reset_password_from_key", args=[int_to_base36(user.pk), token])
    return settings.SITE_URL + path


def newsletter_mail(
    subscribable: Subscribable | None,
    template: str,
    context: Mapping[str, Any],
    *,
    language: str,
    draft: TemplateSource | None = None,
) -> Rendered:
    """Render a mail with the newsletter's look and template, or with ours if that fails.

    A missing confirmation is worse than a plain one. A `draft` replaces both. Raises LetterError.
    """
    site = site_facts()
    facts: dict[str, Any] = {"language": language, "site": site}
    if subscribable is None:
        return render_mail(template, context, theme=site_theme(site), **facts)
    facts |= {"params": subscribable.params, "theme": theme_of(subscribable)}
    if draft is not None:
        return render_mail(template, context, own=draft, **facts)
    own = own_source(subscribable, f"mails/{template}")
    if own is None:
        return render_mail(template, context, **facts)
    try:
        return render_mail(template, context, own=own, **facts)
    except LetterError as error:
        log.warning("%s of %s: the default is used", template, subscribable.name, exc_info=error)
        return render_mail(template, context, **facts)


def mail_context(subscribable: Subscribable, template: str, *, now: datetime) -> dict[str, Any]:
    """Return sample values, with dead links, for previews and tests."""
    site = settings.SITE_URL
    context: dict[str, Any] = {
        "newsletter": str(subscribable),
        "page_url": page_url(subscribable),
        "site_url": site,
    }
    if template == "confirmation":
        return {
            **context,
            "confirm_url": f"{site}/confirm/{NOBODYS_KEY}/",
            "hours": str(settings.CONFIRM_HOURS),
        }
    return context
