from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from common.access import newsletters_of
from common.admin.html import add_url, short_day
from common.clock import utcnow
from common.parts import Button
from delivery.admin.issue_figures import growth
from delivery.admin.restoring import restored
from delivery.models import Broadcast, Delivery, Issue
from feedletter_site.first_steps import MAY_SET_UP
from feedletter_site.monitoring import issue_overview
from feedletter_site.monitoring.attention import Alert, alerts, drafts_in_need, may_see
from feedletter_site.monitoring.feed_health import feeds_in_need
from feedletter_site.monitoring.figures import overview_figures
from feedletter_site.monitoring.first_steps import open_steps
from feeds.models import Feed
from subscriptions.models import Assignable, Subscription


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
    ways = (Button(add_url(Broadcast), "Write an email", is_plain=True), Button(add_url(Feed), "Add a feed"))
    context.update(is_begun=True, needs=needs(user, now), quick_actions=ways)
    context.update(now=f"{timezone.localtime(now):%A} {short_day(timezone.localdate(now))}")
    if may_see(user, Assignable):
        context.update(coming=issue_overview.going_out_next(user, now))
    if newsletters_of(user) is not None:
        return context
    figures = overview_figures(now)
    if may_see(user, Issue):
        context.update(last=issue_overview.last_issues(figures, now))
    if may_see(user, Subscription):
        context.update(
            curve=issue_overview.subscribers_chart(figures),
            subscribers=figures.subscribers,
            growth=growth(figures.growth, figures.today, figures.subscribers),
        )
    return context


def needs(user: Any, now: datetime) -> list[Alert]:
    """Return what needs a person, drafts first."""
    waiting = drafts_in_need(user, now) if may_see(user, Issue) else []
    if newsletters_of(user) is not None:
        # The others tell of all newsletters.
        return waiting
    feeds = feeds_in_need(now) if may_see(user, Feed) else []
    return [*waiting, *alerts(user), *feeds]
