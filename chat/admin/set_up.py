from dataclasses import dataclass
from datetime import timedelta

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextareaWidget

from chat.checks import NAMES, UNREACHABLE, can_be_called, missing_settings
from chat.discord.api import KIND
from chat.guilds.servers import ACCOUNT_NAME, bot_settings
from chat.models import BotFeed, BotSettings, Guild, GuildFeed, Interaction, ServerAlert
from chat.registration import endpoint_urls, invite_link, register
from common.access import opens_for
from common.admin.html import list_link, page
from common.admin.model_admin import StyledForm
from common.admin.refusals import report, require
from common.clock import utcnow
from common.parts import Facts
from common.program import MANAGE
from common.text import pluralize
from delivery.lanes.lanes import why_resting
from delivery.models import ServiceAccount
from subscriptions.models import Destination

PAGE = "discord_set_up"
MAY_SEE, MAY_CHANGE = "chat.view_guild", "chat.change_botsettings"


@dataclass(frozen=True, slots=True)
class Step:
    """The first step not done is the next one."""

    title: str
    says: str
    is_done: bool


class SettingsForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = BotSettings
        fields = (
            "only_allowed",
            "feeds_per_guild",
            "feeds_in_all",
            "posts_a_day",
            "shortest_interval",
            "denied_hosts",
        )
        widgets = {"denied_hosts": UnfoldAdminTextareaWidget(attrs={"rows": 4})}  # noqa: RUF012


@opens_for(lambda user: bool(user.has_perm(MAY_SEE)))
def discord_set_up(request: HttpRequest) -> HttpResponse:
    may_change = request.user.has_perm(MAY_CHANGE)
    form = SettingsForm(instance=bot_settings())
    if request.method == "POST":
        require(may_change)
        if request.POST.get("act") == "register":
            report(request, _register)
            return HttpResponseRedirect(reverse(PAGE))
        form = SettingsForm(request.POST, instance=bot_settings())
        if form.is_valid():
            form.save()
            messages.success(request, "Saved.")
            return HttpResponseRedirect(reverse(PAGE))
    steps = set_up_steps()
    context = {
        "title": "Discord",
        "steps": steps,
        "is_ready": not missing_settings() and can_be_called(),
        "invite_link": invite_link() if steps[-1].is_done else "",
        "form": form,
        "figures": figures(),
        "resting": why_resting(KIND, utcnow()),
        "may_change": may_change,
    }
    return page(request, "admin/chat/set_up.html", context)


def _register() -> str:
    done = register(now=utcnow())
    return f"{done.application} is set up. {done.what_changed}"


def set_up_steps() -> list[Step]:
    missing = missing_settings()
    interactions, _events = endpoint_urls()
    has_account = ServiceAccount.objects.filter(kind=KIND, name=ACCOUNT_NAME).exists()
    is_reachable = can_be_called()
    return [
        Step("Create an application", f"Its ID is {settings.DISCORD_APPLICATION_ID}.", True),
        Step(
            "Enter its three values in Feedletter",
            (
                f"Set {', '.join(missing)} and restart Feedletter. General Information "
                "shows the application’s "
                "ID and public key, and Bot shows its token. Each can also be read from a "
                "file, with NAME_FILE."
            )
            if missing
            else f"{', '.join(NAMES)} are set.",
            not missing,
        ),
        Step(
            "Be reachable",
            f"Discord will call {interactions}." if is_reachable else UNREACHABLE,
            is_reachable,
        ),
        Step(
            "Tell Discord",
            "Registers the commands and addresses, and checks that the values belong "
            f"together. Does the same as {MANAGE} discord_register. You can run it any "
            "time.",
            has_account and not missing and is_reachable,
        ),
    ]


def figures() -> Facts:
    limits = bot_settings()
    present = GuildFeed.objects.present()
    shared = BotFeed.objects.filter(unused_since=None, is_operators=False).count()
    refused = Destination.objects.filter(kind=KIND, disabled_at__isnull=False).count()
    lost = ServerAlert.objects.filter(state=ServerAlert.State.FAILED).count()
    waiting = Interaction.objects.filter(state=Interaction.State.WAITING).count()
    day = Interaction.objects.since(utcnow() - timedelta(days=1)).count()
    here = Guild.objects.filter(removed_at=None, banned_at=None).count()
    return Facts(
        ("Servers", list_link(Guild, pluralize(here, "server"))),
        ("Feeds of servers", list_link(GuildFeed, pluralize(present.count(), "feed"))),
        ("Feeds read for them", f"{shared:,} of at most {limits.feeds_in_all:,}"),
        ("Commands in the last day", day),
        ("Commands waiting", waiting),
        (
            "Channels that refuse posts",
            list_link(Destination, f"{refused:,}", kind=KIND) if refused else "none",
        ),
        (
            "Undelivered notices",
            list_link(ServerAlert, f"{lost:,}", state__exact="failed") if lost else "none",
        ),
    )
