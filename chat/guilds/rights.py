from collections.abc import Collection
from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext as _

from channels.http.client import a_moment
from channels.http.outcomes import is_answer
from chat.discord.api import ApiRefused, ask_bot, is_resting
from chat.discord.messages import channel_mention, shown_title
from chat.guilds.feeds import present_subscription, subscription_of
from chat.models import GuildFeed
from chat.rules.parse import object_of
from chat.rules.permissions import INVITED, MANAGE_THREADS, THREADS, VIEW, missing_in, permissions_in
from common.refused import Refused
from delivery.lanes.lanes import end_refusal, refusing_lane
from subscriptions.subscribers.suppression import enable

ROLE, USER = 1, 2
UNKNOWN_CHANNEL, MISSING_ACCESS, MISSING_PERMISSIONS = 10003, 50001, 50013


def is_granted(*, guild_id: int, user_id: int, roles: Collection[int]) -> bool:
    """Check the person's and roles' permission for `/feed` (network)."""
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
    # A person's permission has precedence over the roles'.
    return found.get(str(user_id), any(found.values()))


def channel_refusal(one: GuildFeed) -> tuple[str, datetime | None] | None:
    """Return what Discord said, and when the lane tries again."""
    subscription = subscription_of(one)
    if subscription is None:
        return None
    to = subscription.destination
    if to.disabled_at:
        return to.disabled_reason or "–", None
    lane = refusing_lane(to)
    return (lane.last_error or "–", lane.free_at) if lane else None


def ask_again(one: GuildFeed, *, now: datetime) -> str:
    """Return a sentence about what is missing (network).

    If nothing is, waiting posts are sent at once. A channel disabled by a Discord answer is enabled; its lane
    retries by itself. Raises Refused if permissions don't help.
    """
    to = present_subscription(one).destination
    if to.disabled_at and to.disabled_reason and not is_answer(to.disabled_reason):
        said = _("The operator of this bot has turned off that channel: %(why)s")
        raise Refused(said % {"why": shown_title(to.disabled_reason)})
    if is_resting():
        raise Refused(_("Discord is refusing too many requests, so I’ll wait a few minutes."))
    why = why_forbidden(one.guild_id, one.channel_id, now=now)
    enable(destination=to)
    lane = refusing_lane(to)
    if lane is not None and not why:
        end_refusal(lane)
    return why


def why_forbidden(guild_id: int, channel_id: int, *, now: datetime) -> str:
    """Return "" if none is known (network).

    Raises Refused if the channel is gone, and ApiRefused without an answer.
    """
    try:
        channel = object_of(ask_bot("GET", f"/channels/{channel_id}"))
    except ApiRefused as error:
        if error.code == UNKNOWN_CHANNEL:
            said = _("That channel no longer exists. Choose another with `/feed move`.")
            raise Refused(said) from error
        if error.code != MISSING_ACCESS:
            raise
        return lacks(channel_id, missing_in(INVITED & ~VIEW, channel_type=0))
    try:
        # A thread has the overwrites of its channel.
        parent = channel.get("parent_id") if channel.get("type") in THREADS else None
        overwrites = object_of(ask_bot("GET", f"/channels/{parent}")) if parent else channel
        user_id = object_of(ask_bot("GET", "/users/@me")).get("id")
        member = object_of(ask_bot("GET", f"/guilds/{guild_id}/members/{user_id}"))
        roles = ask_bot("GET", f"/guilds/{guild_id}/roles")
    except ApiRefused as error:
        if error.is_temporary:
            raise
        # Only a post will show it.
        return ""
    bits = permissions_in(overwrites, roles=roles, member=member, guild_id=guild_id, user_id=user_id)
    if missing := missing_in(bits, channel.get("type")):
        return lacks(channel_id, missing)
    timed_out_until = a_moment(member.get("communication_disabled_until"))
    if timed_out_until and timed_out_until > now:
        said = _("I’m timed out in this server. The timeout ends %(when)s, or when a moderator ends it.")
        return said % {"when": f"<t:{int(timed_out_until.timestamp())}:R>"}
    is_locked = bool(object_of(channel.get("thread_metadata")).get("locked"))
    if is_locked and not bits & MANAGE_THREADS:
        said = _("The thread %(channel)s is locked. Unlock it, or move the feed with `/feed move`.")
        return said % {"channel": channel_mention(channel_id)}
    return ""


def refuse_without_webhooks(one: GuildFeed) -> None:
    """Raise Refused if the bot may not post under another name (network).

    Raises ApiRefused without an answer.
    """
    channel = object_of(ask_bot("GET", f"/channels/{one.channel_id}"))
    place = channel.get("parent_id") if channel.get("type") in THREADS else one.channel_id
    try:
        ask_bot("GET", f"/channels/{place}/webhooks")
    except ApiRefused as error:
        if error.code not in (MISSING_ACCESS, MISSING_PERMISSIONS):
            raise
        said = _(
            "I can’t post with another name in %(channel)s. Give me these permissions "
            "in its settings: %(what)s."
        )
        raise Refused(
            said % {"channel": channel_mention(one.channel_id), "what": "Manage Webhooks"}
        ) from error


def lacks(channel_id: int, missing: list[str]) -> str:
    said = _("I can’t post in %(channel)s. Give me these permissions in its settings: %(what)s.")
    return said % {"channel": channel_mention(channel_id), "what": ", ".join(missing)}
