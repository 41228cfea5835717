"""How often feeds may post, and people may ask."""

import logging
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.discord.api import KIND
from chat.models import BotSettings, Guild, GuildFeed
from chat.rules.parse import Malformed, object_of, snowflake_of
from common.languages import spoken_variety
from common.ports.channels import InvalidDestination
from common.rates import HOUR, Limit, count_rows_within
from common.refused import Refused
from delivery.accounts.accounts import add_service_account, alter_service_account, stored_values
from delivery.issues.pause import pause_newsletter, resume_newsletter
from delivery.models import Delivery, ServiceAccount
from delivery.models.delivery import WAITING

ACCOUNT_NAME = "discord"
A_DAY = timedelta(days=1)
REASON = "It has reached the daily maximum of posts for a feed of a Discord server."
COMMANDS = Limit("chat commands", 20)
# Of a server. Other edits are answered without asking anybody.
NEW_ADDRESS = "new address"
HOURLY = {
    act: Limit(f"chat {act}", most, HOUR)
    for act, most in {"add": 10, NEW_ADDRESS: 10, "preview": 30, "test": 5}.items()
}
log = logging.getLogger(__name__)
LONGEST_NAME = 100


def bot_settings() -> BotSettings:
    return BotSettings.objects.filter(pk=1).first() or BotSettings(pk=1)


def know_guild(guild_id: int, *, locale: str, now: datetime) -> Guild:
    """Runs in the caller's transaction."""
    guild, _made = Guild.objects.get_or_create(pk=guild_id, defaults={"locale": locale, "added_at": now})
    changes: dict[str, Any] = {}
    if locale and guild.locale != locale:
        changes["locale"] = locale
    if guild.removed_at is not None:
        changes |= {"removed_at": None, "why": "", "added_at": now}
    if changes:
        Guild.objects.filter(pk=guild.pk).update(**changes)
        for name, value in changes.items():
            setattr(guild, name, value)
    return guild


def note_installed(said: Any, *, now: datetime) -> None:
    about = object_of(object_of(said).get("guild"))
    try:
        number = snowflake_of(about.get("id"))
    except Malformed:
        return
    with transaction.atomic():
        guild = know_guild(number, locale=str(about.get("preferred_locale") or "")[:10], now=now)
        name_guild(guild, str(about.get("name") or ""))


def name_guild(guild: Guild, name: str) -> None:
    name = " ".join(name.split())[:LONGEST_NAME]
    if name:
        Guild.objects.filter(pk=guild.pk).exclude(name=name).update(name=name)


def refuse_guild(guild: Guild) -> None:
    """Raises Refused."""
    if guild.banned_at is not None:
        raise Refused(_("The operator of this bot has blocked this server."))
    if not guild.is_allowed and bot_settings().only_allowed:
        raise Refused(
            _("This bot only works in approved servers. Ask its operator to approve number %(server)s.")
            % {"server": guild.pk}
        )


def language_of(guild: Guild | None, *tags: str) -> str:
    """Return the first translated language; else the server's, else English."""
    theirs = (guild.language, guild.locale) if guild else ()
    for tag in (*tags, *theirs):
        try:
            return spoken_variety(tag)
        except LookupError:
            continue
    return "en"


def zone_of(guild: Guild) -> ZoneInfo:
    try:
        return ZoneInfo(guild.zone)
    except (ValueError, OSError):
        return ZoneInfo("UTC")


def keep_quotas(*, now: datetime) -> int:
    """Pause feeds that reached the daily limit; resume after midnight."""
    for one in GuildFeed.objects.filter(rests_until__lte=now):
        resume_newsletter(subscribable_id=one.subscribable_id, now=now)
        GuildFeed.objects.filter(pk=one.pk, rests_until__lte=now).update(rests_until=None)
    most, rest = bot_settings().posts_a_day, 0
    lately = _posted(now - A_DAY).values("issue__subscribable").annotate(n=Count("pk")).filter(n__gte=most)
    busy = [row["issue__subscribable"] for row in lately]
    rows = GuildFeed.objects.present().filter(subscribable__in=busy, rests_until=None)
    for one in rows.select_related("guild"):
        zone = zone_of(one.guild)
        today = now.astimezone(zone).date()
        midnight, next_midnight = (datetime.combine(day, time(), zone) for day in (today, today + A_DAY))
        if _posted(midnight).filter(issue__subscribable=one.subscribable_id).count() >= most:
            pause_newsletter(subscribable_id=one.subscribable_id, reason=REASON, now=now)
            GuildFeed.objects.filter(pk=one.pk, rests_until=None).update(rests_until=next_midnight)
            rest += 1
    return rest


def waiting_for_midnight(one: GuildFeed) -> int:
    is_paused = Q(state=Delivery.State.HELD, held_for=Delivery.HeldFor.PAUSE)
    rows = Delivery.objects.filter(issue__subscribable=one.subscribable_id)
    return rows.filter(is_paused | Q(state__in=WAITING)).count()


def _posted(since: datetime) -> "QuerySet[Delivery]":
    return Delivery.objects.filter(
        kind=Delivery.Kind.ISSUE,
        state=Delivery.State.SENT,
        sent_at__gte=since,
        issue__subscribable__guild_feed__removed_at=None,
        issue__subscribable__guild_feed__isnull=False,
    ).order_by()


def refuse_haste(*, user_id: int, now: datetime) -> None:
    """Raises Refused."""
    if not count_rows_within((COMMANDS, str(user_id)), now=now):
        raise Refused(_("Too many commands in a minute. Please wait a moment."))


def refuse_beyond_hourly(*, guild_id: int, act: str, now: datetime) -> None:
    """Raises Refused."""
    limit = HOURLY.get(act)
    if limit and not count_rows_within((limit, str(guild_id)), now=now):
        said = ngettext(
            "This server can do that %(count)s time an hour. Try again later.",
            "This server can do that %(count)s times an hour. Try again later.",
            limit.most,
        )
        raise Refused(said % {"count": limit.most})


def renew_token(*, now: datetime) -> None:
    account = ServiceAccount.objects.filter(kind=KIND, name=ACCOUNT_NAME).exists()
    if account and settings.DISCORD_BOT_TOKEN:
        try:
            ensure_account(now=now)
        except (InvalidDestination, ValidationError) as error:
            log.warning("Discord rejected the bot's token: %s", error)


def ensure_account(*, now: datetime) -> ServiceAccount:
    """Return the account, checked if the token is new (network).

    Raises InvalidDestination and ValidationError.
    """
    values = {"token": settings.DISCORD_BOT_TOKEN}
    account = ServiceAccount.objects.filter(kind=KIND, name=ACCOUNT_NAME).first()
    if account is None:
        return add_service_account(kind=KIND, name=ACCOUNT_NAME, values=values, now=now)
    if stored_values(account) != values:
        return alter_service_account(account=account, values=values, now=now)
    return account
