from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from channels.activitypub.signatures import new_key, public_pem
from common.admin.html import object_url
from delivery.bridges.connect import connect_bridge, typed_destination
from delivery.models import Delivery
from demo.discord.api import WEBHOOK_URL
from demo.discord.places import DISCORD
from demo.fediverse import FEDIVERSE, Ada
from demo.mastodon import ACCOUNT, MASTODON, TOKEN
from fediverse.actors import private_key, switch_on
from fediverse.exchange import exchange_due, receive
from fediverse.rules.activities import read
from feedletter_site.monitoring.attention import Alert
from feeds.models import Feed
from subscriptions.links import page_url
from subscriptions.models import Subscribable

# Each post takes 50 ms of the replay.
BRIDGED = timedelta(days=3)
FOLLOWED = "harbour-notes"


@dataclass(frozen=True, slots=True)
class DemoBridge:
    service: str
    name: str
    title: str
    data: Mapping[str, str]
    options: Mapping[str, str]


def services_url() -> str:
    parts = urlsplit(settings.DISCORD_API_URL)
    return f"{parts.scheme}://{parts.netloc}"


def timeline_urls() -> dict[str, str]:
    return {service: f"{services_url()}/{service}/" for service in (MASTODON, DISCORD, FEDIVERSE)}


def alerts() -> list[Alert]:
    """Say on the overview where emails are, and where the bridges post."""
    services = ("See Mastodon, Discord and the Fediverse", f"{services_url()}/")
    words = "This is a demo: emails stay in its mailbox"
    return [Alert(words, "Open the mailbox", reverse("delivery:mailbox"), services)]


def demo_bridges() -> tuple[DemoBridge, ...]:
    account = {"account": ACCOUNT, "instance_url": services_url(), "access_token": TOKEN}
    return (
        DemoBridge(
            MASTODON,
            "harbour-mastodon",
            "Harbour Notes on Mastodon",
            account,
            {"template": "{title|A note}, by {authors}\n\n{summary}\n\n{link}"},
        ),
        DemoBridge(DISCORD, "harbour-discord", "Harbour Notes on Discord", {"webhook_url": WEBHOOK_URL}, {}),
    )


def connect_all(feed: Feed, now: datetime) -> None:
    """Define the bridges, each checked at its service (network)."""
    for bridge in demo_bridges():
        connect_bridge(
            name=bridge.name,
            channel=bridge.service,
            feeds=[feed],
            parsed=typed_destination(bridge.service, bridge.data),
            now=now,
            title=bridge.title,
            arrangement="each",
            options=dict(bridge.options),
        )


def let_ada_follow(newsletter: Subscribable, now: datetime) -> None:
    """Let the Fediverse follow it, and Ada do so at a past time, without the site (network)."""
    switch_on(newsletter, now=now)
    ada = Ada(services_url(), page_url(newsletter), public_pem(private_key()), new_key(), follows=False)
    ada.save(Path(settings.DATA_DIR))
    request, _ = ada.signed(ada.activity("Follow", ada.followed), now=now)
    if asked := read(request.body, site=settings.SITE_URL):
        receive(request, asked, now=now)
    exchange_due(clock=lambda: now)


def admin_urls() -> list[str]:
    """Return the pages of the bridges, and of the newsletter that Ada follows."""
    names = [*(bridge.name for bridge in demo_bridges()), FOLLOWED]
    rows = Subscribable.objects.in_bulk(names, field_name="name")
    return [f"{object_url(rows[name])}{'?tab=share' if name == FOLLOWED else ''}" for name in names]


def posts_of_bridges() -> int:
    names = [bridge.name for bridge in demo_bridges()]
    return Delivery.objects.filter(issue__subscribable__name__in=names, state=Delivery.State.SENT).count()
