from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from chat.checks import UNREACHABLE, can_be_called, missing_settings
from chat.commands.definitions import commands
from chat.discord.api import ask_bot
from chat.guilds.servers import ensure_account
from chat.rules.permissions import INVITED
from common.refused import Refused

AUTHORIZED = "APPLICATION_AUTHORIZED"


@dataclass(frozen=True, slots=True)
class Registered:
    """`changed`: names of changed parts."""

    application: str
    commands: int
    guild: str
    endpoint: str
    events: str
    invite_link: str
    changed: tuple[str, ...]

    @property
    def what_changed(self) -> str:
        return f"Changed: {', '.join(self.changed)}." if self.changed else "Nothing had to be changed."


def invite_link() -> str:
    """Return "" without an application."""
    if not settings.DISCORD_APPLICATION_ID:
        return ""
    asked = {
        "client_id": settings.DISCORD_APPLICATION_ID,
        "scope": "bot applications.commands",
        "permissions": str(INVITED),
    }
    return f"{settings.DISCORD_URL}/oauth2/authorize?{urlencode(asked)}"


def endpoint_urls() -> tuple[str, str]:
    return tuple(f"{settings.SITE_URL}{reverse(f'chat:{name}')}" for name in ("interactions", "events"))  # type: ignore[return-value]


def register(*, guild: str = "", now: datetime) -> Registered:
    """Idempotent; the server must be running. Raises Refused.

    With `guild` the commands are for that server only, and available at once.
    """
    if missing := missing_settings():
        raise Refused(f"Set {', '.join(missing)} first. docs/discord-bot.md says where to find them.")
    if not can_be_called():
        raise Refused(UNREACHABLE)
    application = settings.DISCORD_APPLICATION_ID
    known = _checked(ask_bot("GET", "/applications/@me"))
    ensure_account(now=now)
    place = f"/applications/{application}{f'/guilds/{guild}' if guild else ''}/commands"
    changed = []
    wanted = commands()
    if not _are_same(ask_bot("GET", f"{place}?with_localizations=true"), wanted):
        ask_bot("PUT", place, json=wanted)
        changed.append("commands")
    interactions, events = endpoint_urls()
    about = {
        "interactions_endpoint_url": interactions,
        "event_webhooks_url": events,
        "event_webhooks_status": 2,
        "event_webhooks_types": [AUTHORIZED],
        "integration_types_config": {
            "0": {
                "oauth2_install_params": {
                    "scopes": ["bot", "applications.commands"],
                    "permissions": str(INVITED),
                }
            }
        },
    }
    if any(known.get(name) != value for name, value in about.items()):
        ask_bot("PATCH", "/applications/@me", json=about)
        changed.append("addresses")
    return Registered(
        application=str(known.get("name") or application),
        commands=len(wanted),
        guild=guild,
        endpoint=interactions,
        events=events,
        invite_link=invite_link(),
        changed=tuple(changed),
    )


def _checked(known: Any) -> Mapping[str, Any]:
    """Raise Refused unless the three settings are of one application."""
    if not isinstance(known, dict):
        raise Refused("Discord returned no application. Try again.")
    if str(known.get("id")) != settings.DISCORD_APPLICATION_ID:
        raise Refused(
            f"DISCORD_BOT_TOKEN belongs to the application {known.get('id')}, but "
            f"DISCORD_APPLICATION_ID is {settings.DISCORD_APPLICATION_ID}. Copy both "
            "from the same application."
        )
    if str(known.get("verify_key")).lower() != settings.DISCORD_PUBLIC_KEY.lower():
        raise Refused(
            "DISCORD_PUBLIC_KEY belongs to another application. Copy it from the page General Information."
        )
    return known


def _are_same(known: Any, wanted: Any) -> bool:
    """Ignore Discord's additions, such as ids."""
    if isinstance(wanted, dict):
        return isinstance(known, dict) and all(
            _are_same(known.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        same_length = isinstance(known, list) and len(known) == len(wanted)
        return (same_length or (not known and not wanted)) and all(map(_are_same, known or (), wanted))
    return bool(known == wanted) or (wanted is False and known is None)
