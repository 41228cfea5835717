from django.contrib import admin
from django.contrib.admin import ChoicesFieldListFilter

from chat.models import ServerAlert
from common.admin.html import moment_of, when
from common.admin.lists import asks
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.parts import Facts, Link, Part
from common.ports.panels import Panel


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
        "No notices to servers yet",
        "Servers get a notice when a feed fails or needs a decision.",
        "Set up the Discord bot",
        "discord_set_up",
    )
    own_panels = (Panel("Notice", what_was_told, order=10),)
    told = moment_of("created_at", "told")
