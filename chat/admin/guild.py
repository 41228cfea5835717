from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from chat.guilds.feeds import remove_feed
from chat.guilds.servers import bot_settings
from chat.models import Guild, GuildFeed
from common.admin.html import column, list_link, moment_of, when
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.db.tallies import count_of
from common.parts import Link, Part, Table
from common.ports.panels import Action, Panel
from common.text import pluralize

STATE_COLOURS = {"banned": "danger", "left": "info", "waiting for you": "warning", "here": "success"}


def standing_of(guild: Guild) -> str:
    """“waits for you”: only allowed servers may have the bot."""
    if guild.banned_at:
        return "banned"
    if guild.removed_at:
        return "left"
    return "waiting for you" if bot_settings().only_allowed and not guild.is_allowed else "here"


def its_feeds(guild: Guild) -> Part:
    rows = guild.guild_feeds.select_related("subscribable", "feed")
    shown = (
        (one.number, Link(one), Link(one.feed), str(one.channel_id), when(one.removed_at, "–"))
        for one in rows[:100]
    )
    return Table(("number", "feed of the server", "feed", "channel", "removed"), shown, "No feeds yet.")


def allow(request: HttpRequest, keys: list[int]) -> str:
    return f"{pluralize(Guild.objects.filter(pk__in=keys).update(is_allowed=True), 'server')} allowed."


def what_banning_does(keys: list[int]) -> list[str]:
    sentences = []
    for guild in Guild.objects.filter(pk__in=keys):
        count = guild.guild_feeds.present().count()
        sentences.append(f"{guild}: the bot stops answering, and {pluralize(count, 'feed')} are removed.")
    return sentences


def ban(request: HttpRequest, keys: list[int]) -> str:
    guilds = list(Guild.objects.filter(pk__in=keys))
    Guild.objects.filter(pk__in=keys, banned_at=None).update(banned_at=utcnow())
    feeds = GuildFeed.objects.present().filter(guild__in=keys).order_by("pk")
    ended = sum(remove_feed(one, now=utcnow()) for one in feeds)
    return f"{pluralize(len(guilds), 'server')} banned, {pluralize(ended, 'feed')} ended."


def unban(request: HttpRequest, keys: list[int]) -> str:
    Guild.objects.filter(pk__in=keys).update(banned_at=None)
    return "The bot answers there again. Feeds that were removed must be added again."


@admin.register(Guild)
class GuildAdmin(ServiceAdmin):
    list_display = ("__str__", "pk", "feeds", "state_now", "added")
    search_fields = ("name", "id")
    fields = ("is_allowed", "feed_limit")
    empty = EmptyList(
        "The bot isn’t in any server yet",
        "Servers appear here when they first use the bot.",
        "Set up the Discord bot",
        "discord_set_up",
    )
    own_panels = (Panel("Its feeds", its_feeds, order=10),)
    own_actions = (
        Action("allow", "Allow", allow, fits=lambda guild: not guild.is_allowed),
        Action("ban", "Ban", ban, confirm=what_banning_does, fits=lambda guild: not guild.banned_at),
        Action("unban", "Lift ban", unban, fits=lambda guild: bool(guild.banned_at)),
    )
    added = moment_of("added_at", "added")
    state_now = column("state", standing_of, label=STATE_COLOURS)
    feeds = column(
        "feeds",
        lambda guild: list_link(GuildFeed, guild.feed_count, guild__id__exact=guild.pk),
        ordering="feed_count",
    )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Guild]":
        present = GuildFeed.objects.filter(Q(removed_at=None))
        rows: QuerySet[Guild] = super().get_queryset(request)
        return rows.annotate(feed_count=count_of(present, "guild"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
