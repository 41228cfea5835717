"""Their people manage these feeds by chat."""

from django.contrib import admin
from django.contrib.admin import ChoicesFieldListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from chat.commands.feeds import fate_words
from chat.guilds.feeds import remove_feed
from chat.guilds.history import latest_fates
from chat.guilds.rights import channel_refusal
from chat.guilds.servers import bot_settings
from chat.models import Guild, GuildFeed, ServerAlert
from common.admin.html import column, list_link, moment_of, when
from common.admin.lists import asks
from common.admin.model_admin import ReadOnlyAdmin, ServiceAdmin
from common.admin.page_words import EmptyList, nobody_may
from common.clock import utcnow
from common.db.bulk import count_of
from common.parts import Facts, Link, Part, Table
from common.ports.panels import Action, Panel
from common.text import pluralize

# Where empty lists lead.
SET_UP = ("Set up the Discord bot", "discord_set_up")
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
        "The bot isn’t in any server yet", "Servers appear here when they first use the bot.", *SET_UP
    )
    own_panels = (Panel("Its feeds", its_feeds, order=10),)
    own_actions = (
        Action("allow", "Allow", allow, fits=lambda guild: not guild.is_allowed),
        Action("ban", "Ban", ban, confirm=what_banning_does, fits=lambda guild: not guild.banned_at),
        Action("unban", "Lift ban", unban, fits=lambda guild: bool(guild.banned_at)),
    )
    has_add_permission = nobody_may
    added = moment_of("added_at", "added")
    state_now = column("state", standing_of, label=STATE_COLOURS)
    feeds = column(
        "feeds",
        lambda guild: list_link(GuildFeed, guild.feed_count, guild__id__exact=guild.pk),
        ordering="feed_count",
    )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Guild]":
        rows: QuerySet[Guild] = super().get_queryset(request)
        return rows.annotate(feed_count=count_of(GuildFeed.objects.present(), "guild"))


def what_was_told(alert: ServerAlert) -> Part:
    return Facts(
        ("Server", Link(alert.guild)),
        ("About", Link(alert.guild_feed) if alert.guild_feed else "–"),
        ("Trouble", alert.trouble),
        ("State", alert.get_state_display()),
        ("Discord said", alert.last_error or "–"),
        ("Decided", alert.get_decision_display() if alert.decision else "–"),
        ("Done", when(alert.applied_at)),
    )


@admin.register(ServerAlert)
class ServerAlertAdmin(ReadOnlyAdmin):
    list_display = ("guild", "guild_feed", "trouble", "state", "decision", "told", "last_error")
    list_filter = (("state", asks("Was it delivered?", ChoicesFieldListFilter)),)
    list_select_related = ("guild", "guild_feed__subscribable")
    empty = EmptyList(
        "No notices to servers yet", "Servers get a notice when a feed fails or needs a decision.", *SET_UP
    )
    own_panels = (Panel("Notice", what_was_told, order=10),)
    told = moment_of("created_at", "told")


def describe(one: GuildFeed) -> Part:
    return Facts(
        ("Server", Link(one.guild)),
        ("Its number there", one.number),
        ("Feed", Link(one.feed)),
        ("Bridge", Link(one.subscribable)),
        ("Channel", str(one.channel_id)),
        ("Added by", str(one.added_by)),
        ("Added", when(one.added_at)),
        ("Removed", when(one.removed_at)),
        ("Discord refuses", refusal[0] if (refusal := channel_refusal(one)) else "–"),
    )


def latest(one: GuildFeed) -> Part:
    rows = ((fate.title, fate_words(fate)) for fate in latest_fates(one, now=utcnow()))
    return Table(("post", "status"), rows, "No posts yet.")


def remove(request: HttpRequest, keys: list[int]) -> str:
    rows = GuildFeed.objects.present().filter(pk__in=keys)
    return f"{pluralize(sum(remove_feed(one, now=utcnow()) for one in rows), 'feed')} removed."


@admin.register(GuildFeed)
class GuildFeedAdmin(ReadOnlyAdmin):
    list_display = ("title", "guild", "number", "feed", "added", "removed")
    list_filter = ("guild",)
    list_select_related = ("guild", "subscribable", "feed")
    search_fields = ("subscribable__title", "feed__url", "guild__name")
    empty = EmptyList("No server has a feed yet", "People add feeds in Discord with /feed add.", *SET_UP)
    own_panels = (Panel("Status", describe, order=10), Panel("Latest posts", latest, order=20))
    own_actions = (
        Action(
            "remove",
            "Remove",
            remove,
            confirm=lambda keys: [
                f"{pluralize(len(keys), 'feed')} of servers will be removed. Their people aren’t notified."
            ],
            fits=lambda one: one.removed_at is None,
        ),
    )
    added, removed = moment_of("added_at", "added"), moment_of("removed_at", "removed")
    title = column("feed of the server", lambda one: one.title)

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("chat.change_guild")
