"""Whom a server's admins let use the commands, under Integrations: only Discord knows (network)."""

from collections.abc import Collection

from django.conf import settings

from chat.discord.api import ApiRefused, ask_bot

ROLE, USER = 1, 2


def is_granted(*, guild_id: int, user_id: int, roles: Collection[int]) -> bool:
    """Whether a role of that person, or they themselves, were let use `/feed` (network)."""
    application = settings.DISCORD_APPLICATION_ID
    try:
        known = ask_bot("GET", f"/applications/{application}/commands")
        said = ask_bot("GET", f"/applications/{application}/guilds/{guild_id}/commands/permissions")
    except ApiRefused:
        return False
    theirs = {str(user_id): USER, **{str(role): ROLE for role in roles}}
    ids = {one.get("id") for one in known if isinstance(one, dict) and one.get("name") == "feed"}
    found = {
        str(grant.get("id")): bool(grant.get("permission"))
        for one in said
        if isinstance(one, dict) and one.get("id") in ids
        for grant in one.get("permissions", ())
        if isinstance(grant, dict) and theirs.get(str(grant.get("id"))) == grant.get("type")
    }
    # What is said of a person goes before what is said of their roles.
    return found.get(str(user_id), any(found.values()))
