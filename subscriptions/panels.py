"""What subscriptions adds to the admin pages of feeds."""

from typing import Any

from django.http import HttpRequest

from common.admin import link_to, table
from common.clock import utcnow
from common.panels import Action, Panel, add_action, add_panel
from feeds.models import Feed, Item
from subscriptions.admin_words import waits_for
from subscriptions.services.dropping import drop_feed
from subscriptions.services.excluding import exclude_items


def install() -> None:
    """Called once, when the app is ready."""
    add_panel("feeds.Feed", Panel("Newsletters", newsletters))
    add_panel("feeds.Item", Panel("Collections", collections))
    add_action("feeds.Item", Action("exclude", "Do not send (exclude)", exclude))
    add_action("feeds.Feed", Action("drop", "Drop; let posts on their way go out first", drop))


def newsletters(feed: Feed) -> Any:
    return table(
        ("newsletter",), ((link_to(row),) for row in feed.subscribables.all()), "No newsletter reads it yet."
    )


def collections(item: Item) -> Any:
    rows = item.assignables.select_related("subscribable")
    return table(
        ("newsletter", "when it goes out"),
        ((link_to(row.subscribable), waits_for(row)) for row in rows),
        "In no open collection.",
    )


def exclude(request: HttpRequest, keys: list[int]) -> str:
    done = exclude_items(item_ids=keys, now=utcnow())
    late = len(keys) - done
    return f"{done} posts are excluded." + (f" For {late} it was too late or needless." if late else "")


def drop(request: HttpRequest, keys: list[int]) -> str:
    return " ".join(
        drop_feed(feed=feed, force=True, now=utcnow()) for feed in Feed.objects.filter(pk__in=keys)
    )
