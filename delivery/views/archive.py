"""Past issues: the list, and single issues."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from common.text import one_line
from delivery.issues.cards import with_words
from delivery.letters.pages import issue_page
from delivery.models import Issue, IssueCard
from delivery.views.issues import issue_or_404, newsletter_or_404, published, shown_of
from delivery.views.newsletter import sign_up_form
from subscriptions.views.pages import POLICY, page

ISSUES_ON_A_PAGE = 50
# With fewer, reading is as fast as searching.
TOO_FEW_TO_SEARCH = 12
LONGEST_SEARCH = 100
TITLES_SHOWN = 10
# Custom templates may contain styles, but no scripts.
OWN_STYLES = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requested year (0: all) and search words."""

    year: int
    words: str


@dataclass(frozen=True, slots=True)
class Titles:
    shown: Sequence[str]
    more: int


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
    words = one_line(request.GET.get("q", "")[:LONGEST_SEARCH])
    wanted = Wanted(chosen if chosen in years else 0, words)
    found = with_words(wanted.words)
    if wanted.year:
        begins, ends = (datetime(each, 1, 1, tzinfo=zone) for each in (wanted.year, wanted.year + 1))
        found &= Q(published_at__gte=begins, published_at__lt=ends)
    keys = every.filter(found).values_list("pk", flat=True)
    # A search is read once, not again for counting.
    issues = Paginator(list(keys) if words else keys, ISSUES_ON_A_PAGE)
    shown = issues.get_page(request.GET.get("page"))
    rows = every.filter(pk__in=list(shown)).select_related("card").defer("html", "text", "card__words")
    by_year = groupby(rows, lambda row: row.published_at and row.published_at.astimezone(zone).year)
    context = {
        "newsletter": newsletter,
        "issues": shown,
        "by_year": [(year_, [(row, _titles_of(row)) for row in of_it]) for year_, of_it in by_year],
        "years": years,
        "wanted": wanted,
        "has_search": bool(wanted.words)
        or (issues.count if not wanted.year else every.count()) > TOO_FEW_TO_SEARCH,
    }
    return render(request, "pages/archive.html", context)


def _titles_of(issue: Issue) -> Titles | None:
    """Return titles not already in the issue's, or None."""
    card: IssueCard | None = getattr(issue, "card", None)
    if card is None:
        return None
    is_said = bool(card.titles) and issue.title.startswith(card.titles[0].rstrip("…."))
    titles = card.titles[is_said:]
    return Titles(titles[:TITLES_SHOWN], len(titles[TITLES_SHOWN:])) if titles else None


@require_safe
@page
@cache_control(public=True, max_age=300)
def issue(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Show an issue as sent, without reader's fields."""
    found = issue_or_404(name, pk)
    form = partial(sign_up_form, found.subscribable)
    shown = issue_page(found, read=partial(shown_of, found), form=form)
    response = HttpResponse(shown.html)
    if shown.is_own:
        response.headers["Content-Security-Policy"] = OWN_STYLES
    return response
