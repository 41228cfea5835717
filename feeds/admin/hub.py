"""A feed's hub on its page: whether new posts are pushed to us, and what is in the way."""

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin.html import ago, facts, paragraph, when
from common.clock import utcnow
from common.text import pluralize
from feeds.hubs.maintain import ask_again
from feeds.hubs.subscriptions import is_reachable, offered
from feeds.models import Feed, HubSubscription
from feeds.rules.websub import SILENT_AFTER, hub_is_live

SWITCHED_OFF = "{} could push its new posts, but “let its hub tell us” is switched off. The feed is polled."
UNREACHABLE = (
    "{} could push its new posts, but SITE_URL is {}, which it cannot call. The feed is polled. To have posts"
    " pushed, set SITE_URL to the public address of this installation."
)
SOON = "{} offers to push its new posts. It is asked after the feed’s next reading at the latest."


def hub(feed: Feed) -> SafeString | str:
    """The panel; nothing for a feed that names no hub."""
    row = subscription_of(feed)
    if row is None:
        offer = offered(feed) if feed.status == Feed.Status.ACTIVE else None
        if offer is None:
            return ""
        host = urlsplit(offer.hub).hostname or offer.hub
        if not feed.use_hub:
            return paragraph(SWITCHED_OFF.format(host))
        return paragraph(SOON.format(host) if is_reachable() else UNREACHABLE.format(host, settings.SITE_URL))
    rows: list[tuple[str, Any]] = [("Hub", row.hub), ("Pushes", describe_pushes(row, utcnow()))]
    if row.last_error and row.state != HubSubscription.State.DENIED:
        rows.append(("What was wrong", row.last_error))
    if row.state == HubSubscription.State.ACTIVE:
        rows.append(("Agreed until", f"{when(row.expires_at)}. It is renewed before."))
    rows.append(("Last push", when(row.last_push_at, "None so far.")))
    if row.refused:
        rows.append(("Ignored", f"{pluralize(row.refused, 'push', 'pushes')} with a wrong or no signature"))
    return facts(rows)


def describe_pushes(row: HubSubscription, now: datetime) -> str:
    """One or two sentences: whether new posts are pushed; if not, why, and what happens next."""
    if not is_reachable():
        return f"They cannot arrive: SITE_URL is {settings.SITE_URL}, which the hub cannot call."
    if hub_is_live(row.state, row.expires_at, row.missed, now):
        return "New posts are pushed as they come out. Meanwhile the feed is polled less often."
    if (
        row.state in (HubSubscription.State.ACTIVE, HubSubscription.State.PENDING)
        and row.missed >= SILENT_AFTER
    ):
        return (
            "The hub did not tell of the latest posts. Until it does, the feed is polled as if it had no hub."
        )
    wait = row.next_at - now
    again = f"It is asked again {f'in {ago(wait)}' if wait.total_seconds() > 0 else 'within a minute'}."
    if row.state == HubSubscription.State.DENIED:
        said = f": “{row.last_error.rstrip('.')}”." if row.last_error else "."
        return f"The hub refuses to push this feed{said} {again}"
    if row.state == HubSubscription.State.PENDING and not row.last_error:
        return f"The hub was asked {pluralize(row.failures, 'time')} and has not called back yet. {again}"
    return f"Not yet. {again}"


def subscription_of(feed: Feed) -> HubSubscription | None:
    return HubSubscription.objects.filter(feed=feed).first()


def can_ask(feed: Feed) -> bool:
    return feed.status == Feed.Status.ACTIVE and is_reachable() and subscription_of(feed) is not None


def ask_hub(request: HttpRequest, keys: list[int]) -> str:
    asked = ask_again(feeds=keys, now=utcnow())
    if not asked:
        return "There is no hub to ask: these feeds name none, or are not watched."
    return f"{pluralize(asked, 'hub')} will be asked within a minute."
