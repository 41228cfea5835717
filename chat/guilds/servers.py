import logging
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext as _

from chat.models import BotSettings, Guild
from chat.rules.parse import Malformed, snowflake_of
from common.languages import spoken_variety
from common.refused import Refused

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
    about = said.get("guild") if isinstance(said, dict) else None
    if not isinstance(about, dict):
        return
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
