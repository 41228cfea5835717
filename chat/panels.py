from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from chat.models import BotFeed, Guild, GuildFeed
from common.admin.html import list_link
from common.parts import Part
from common.ports.panels import Action, Panel, add
from common.text import pluralize
from feeds.models import Feed
from subscriptions.admin.newsletter import SubscribableAdmin


class ServersFilter(SimpleListFilter):
    """Hides possibly thousands of bridges by default."""

    title = "Show bridges of Discord servers?"
    parameter_name = "servers"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("all", "with all others"), ("only", "only these")] if Guild.objects.exists() else []

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        if self.value() == "all":
            return queryset
        # Also in autocompletes and actions.
        return queryset.filter(guild_feed__isnull=self.value() != "only")


def of_servers(feed: Feed) -> Part:
    count = GuildFeed.objects.present().filter(feed=feed).count()
    if not count:
        return ""
    return list_link(GuildFeed, f"{pluralize(count, 'channel')} of Discord servers", feed__id__exact=feed.pk)


def lend(request: HttpRequest, keys: list[int]) -> str:
    """Refuses feeds with credentials."""
    feeds = Feed.objects.filter(pk__in=keys, credentials="", bot_feed=None)
    done = BotFeed.objects.bulk_create([BotFeed(feed=feed, is_operators=True) for feed in feeds])
    return f"The Discord bot may use {pluralize(len(done), 'feed')} for servers that request it."


def install() -> None:
    SubscribableAdmin.list_filter = (ServersFilter, *SubscribableAdmin.list_filter)  # type: ignore[assignment]
    add(
        "feeds.Feed",
        Panel("Discord servers", of_servers, order=23),
        Action(
            "lend",
            "Share it with the Discord bot",
            lend,
            fits=lambda feed: not feed.credentials and not BotFeed.objects.filter(feed=feed).exists(),
        ),
    )
