"""Their people manage these feeds by chat."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from chat.commands.feeds import fate_words
from chat.guilds.feeds import remove_feed
from chat.guilds.history import latest_fates
from chat.guilds.rights import channel_refusal
from chat.models import GuildFeed
from common.admin.html import column, moment_of, when
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.parts import Facts, Link, Part, Table
from common.ports.panels import Action, Panel
from common.text import pluralize


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
    empty = EmptyList(
        "No server has a feed yet",
        "People add feeds in Discord with /feed add.",
        "Set up the Discord bot",
        "discord_set_up",
    )
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

    def get_queryset(self, request: HttpRequest) -> "QuerySet[GuildFeed]":
        rows: QuerySet[GuildFeed] = super().get_queryset(request)
        return rows.order_by("guild", "number")
