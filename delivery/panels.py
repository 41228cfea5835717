"""What delivery adds to the admin pages of the apps before it."""

from typing import Any

from django.http import HttpRequest

from common.admin import link_to, table
from common.clock import utcnow
from common.panels import Action, Panel, add_action, add_panel
from delivery.models import Delivery
from delivery.services.testing import send_test_issue
from feeds.models import Item
from subscriptions.models import Subscribable, Subscription


def install() -> None:
    """Called once, when the app is ready."""
    add_panel("feeds.Item", Panel("Where it went", item_issues))
    add_panel("subscriptions.Subscribable", Panel("Issues", recent_issues))
    add_panel("subscriptions.Subscription", Panel("Everything sent to them", sent_to))
    add_action("subscriptions.Subscribable", Action("send_test", "Send me a test", send_me_a_test))


def item_issues(item: Item) -> Any:
    rows = item.issue_items.select_related("issue", "issue__subscribable")
    return table(
        ("issue", "newsletter", "published"),
        ((link_to(row.issue), row.issue.subscribable, row.issue.published_at) for row in rows),
        "In no issue so far.",
    )


def recent_issues(subscribable: Subscribable) -> Any:
    rows = subscribable.issues.order_by("-created_at", "-pk")[:10]
    return table(("issue", "published"), ((link_to(row), row.published_at) for row in rows), "No issue yet.")


def sent_to(subscription: Subscription) -> Any:
    rows = Delivery.objects.filter(subscription=subscription).select_related("issue").order_by("-pk")[:100]
    return table(
        ("what", "state", "sent", "in the server's words"),
        (
            (
                link_to(row, str(row.issue or row.get_kind_display())),
                row.get_state_display(),
                row.sent_at or "",
                row.last_error,
            )
            for row in rows
        ),
        "Nothing was sent to them so far.",
    )


def send_me_a_test(request: HttpRequest, keys: list[int]) -> str:
    address = getattr(request.user, "email", "")
    if not address:
        raise ValueError("Your user has no e-mail address: set it under Users, then try again.")
    for subscribable in Subscribable.objects.filter(pk__in=keys[:10]):
        send_test_issue(subscribable=subscribable, to=address, now=utcnow())
    return f"A test with the newest posts is on its way to {address}."
