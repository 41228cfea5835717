from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from common.admin.html import add_url, list_url
from common.clock import utcnow
from delivery.admin.issue_figures import drawn_of
from delivery.admin.restoring import restored
from delivery.alerts.pauses import goes_out
from delivery.issues.publish import drafts
from delivery.models import Broadcast, Delivery, Issue
from delivery.models.delivery import NOT_FINISHED
from delivery.rules.progress import waiting_words
from feedletter_site.first_steps import MAY_SET_UP
from feedletter_site.monitoring import issue_overview
from feedletter_site.monitoring.attention import alerts, may_see
from feedletter_site.monitoring.feed_health import feed_health
from feedletter_site.monitoring.figures import Figures, overview_figures
from feedletter_site.monitoring.first_steps import open_steps
from feeds.models import Feed
from subscriptions.models import Assignable, Subscribable, Subscription

ROWS_SHOWN = 6


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: adds the figures that the user may see."""
    user, now = request.user, utcnow()
    context.update(title="Overview")
    if user.has_perm(MAY_SET_UP):
        steps = open_steps(email=getattr(user, "email", ""))
        done = sum(each.is_done for each in steps)
        context.update(
            steps=steps,
            next_step=next((each.name for each in steps if not each.is_done), ""),
            steps_done=done,
            is_mostly_done=2 * done >= len(steps),
        )
    if may_see(user, Delivery):
        context.update(restore=restored())
    if not Feed.objects.exists():
        return context
    figures = overview_figures(now)
    context.update(is_begun=True, alerts=alerts(user), tiles=tiles(user, figures))
    context.update(quick_actions=quick_actions(user))
    if may_see(user, Assignable):
        context.update(coming=issue_overview.going_out_next(now))
    if may_see(user, Issue):
        waiting = list(drafts().select_related("subscribable")[:ROWS_SHOWN])
        context.update(
            drafts=[(row, goes_out(row)) for row in waiting],
            more_drafts=drafts().count() - ROWS_SHOWN if len(waiting) == ROWS_SHOWN else 0,
            last=issue_overview.last_issues(figures),
        )
    if may_see(user, Delivery):
        context.update(letters=issue_overview.letters_plot(figures))
    if may_see(user, Feed):
        context.update(feed_health=feed_health(now))
    if may_see(user, Subscription):
        growth = drawn_of(figures.growth, figures.today, figures.subscribers)
        context.update(curve=issue_overview.subscribers_plot(figures), growth=growth)
    if may_see(user, Subscription) and may_see(user, Delivery):
        context.update(changes=issue_overview.changes(figures, now))
    return context


QUICK_ACTIONS: tuple[tuple[str, type[Model]], ...] = (
    ("Write an email", Broadcast),
    ("Add a subscriber", Subscription),
    ("Add a feed", Feed),
    ("Create a newsletter", Subscribable),
)


def quick_actions(user: Any) -> list[tuple[str, str]]:
    """Return titles and addresses of what the user may do."""
    return [
        (title, add_url(model))
        for title, model in QUICK_ACTIONS
        if user.has_perm(f"{model._meta.app_label}.add_{model._meta.model_name}")
    ]


def tiles(user: Any, figures: Figures) -> list[tuple[str, str, str]]:
    """Return title, number and link. Hides bridges of Discord servers, too."""
    kinds: list[tuple[str, QuerySet[Any], dict[str, str]]] = [
        ("Feeds", Feed.objects.all(), {}),
        ("Newsletters and bridges", Subscribable.objects.filter(guild_feed=None), {}),
        ("Subscriptions", Subscription.objects.confirmed(), {"status__exact": "confirmed"}),
        ("Waiting to be sent", Delivery.objects.all(), {"state__in": ",".join(NOT_FINISHED)}),
    ]
    return [
        (title, _tile_number(rows, figures), list_url(rows.model, **filters))
        for title, rows, filters in kinds
        if may_see(user, rows.model)
    ]


def _tile_number(rows: "QuerySet[Any]", figures: Figures) -> str:
    if rows.model is Delivery:
        return waiting_words(*Delivery.objects.unsent())
    return f"{figures.subscribers if rows.model is Subscription else rows.count():,}"
