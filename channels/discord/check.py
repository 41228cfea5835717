from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeVar

from django.conf import settings

from channels.discord.service import BOT, WEBHOOK, agent, snowflake
from channels.discord.session import webhook_at, webhook_secrets
from channels.http.client import ApiSession, told_at_fields
from channels.http.transport import ApiResponse
from channels.oauth import Grant, WebhookOAuth, a_secret, application_fields
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import plain_line


class DiscordConnect(WebhookOAuth):
    key = "discord-app"
    label = "Discord application"
    service = "Discord"
    # https://discord.com/developers/docs/topics/oauth2#webhooks
    authorise_address = "https://discord.com/oauth2/authorize"
    token_address = "https://discord.com/api/oauth2/token"  # noqa: S105 - an address
    scope = "webhook.incoming"
    account_fields = application_fields("Discord's developer portal, under OAuth2")
    steps = (
        "At discord.com/developers/applications, choose New Application. Its name is shown above posts.",
        "Under OAuth2, Redirects, choose Add Redirect, paste the address below and save.",
        "On the same page, copy the Client ID and the Client Secret (Reset Secret shows a new one).",
    )

    def headers(self) -> Mapping[str, str]:
        return agent()

    def granted(self, answer: ApiResponse) -> Grant:
        return Grant({"webhook_url": a_secret(answer.at("webhook", "url"))})


T = TypeVar("T")
# Others belong to an application, or follow another channel.
INCOMING = 1
# https://discord.com/developers/docs/resources/channel#forum-tag-object
MOST_FORUM_TAGS, MOST_OF_A_TAG = 20, 50
# Categories and directories hold channels, not messages.
HOLD_CHANNELS = (4, 14)


def check_webhook(destination: ParsedDestination, *, asking: ApiSession | None = None) -> ParsedDestination:
    """Add Discord's data. Raises InvalidDestination."""
    url, asking = destination.secrets["webhook_url"], asking or ApiSession()

    def read(answer: ApiResponse) -> tuple[Any, str, dict[str, str]]:
        # Without the server there are no links to messages.
        guild = answer.at("guild_id")
        places = {
            "channel_id": snowflake(answer.at("channel_id")),
            "guild_id": snowflake(guild) if guild else "",
        }
        return answer.at("type"), _name(answer) or "Webhook", places

    at = webhook_at(settings.DISCORD_API_URL, url)
    client = asking.client(at, WEBHOOK, utcnow(), secrets=webhook_secrets(url))
    with closing(asking), told_at_fields("webhook_url"):
        kind, name, places = client.call("GET", at, headers=agent(), read=read)
    if kind != INCOMING:
        raise InvalidDestination(
            "webhook_url: this is another kind of webhook. Create a new one for this bridge."
        )
    return replace(destination, label=f"{name} ({destination.core})", config={**destination.config, **places})


def check_channel(
    destination: ParsedDestination, token: str, *, asking: ApiSession | None = None
) -> ParsedDestination:
    """Add Discord's data. Raises InvalidDestination."""
    config = destination.config

    def read(answer: ApiResponse) -> tuple[str, int, str, str]:
        snowflake(answer.at("id"))
        # A direct message has no server.
        guild = answer.at("guild_id")
        return _name(answer), int(answer.at("type")), snowflake(guild) if guild else "", _tags(answer)

    url = f"{settings.DISCORD_API_URL}/channels/{config['channel_id']}"
    name, kind, guild, tags = _asked(
        url, token, read, asking or ApiSession(), blamed="account", place="channel_id"
    )
    if kind in HOLD_CHANNELS or not guild:
        raise InvalidDestination(
            "channel_id: this channel doesn’t accept posts. Enter the ID of a server’s channel."
        )
    known = {"channel_type": str(kind), "guild_id": guild, **({"tags": tags} if tags else {})}
    return replace(destination, label=f"#{name}, by {config['account']}", config={**config, **known})


def check_bot(token: str, *, asking: ApiSession | None = None) -> str:
    """Return the bot's name. Raises InvalidDestination."""

    def read(answer: ApiResponse) -> str:
        return _name(answer, "username") or snowflake(answer.at("id"))

    url = f"{settings.DISCORD_API_URL}/users/@me"
    return _asked(url, token, read, asking or ApiSession(), blamed="token", place="token")


def _asked(
    url: str,
    token: str,
    read: Callable[[ApiResponse], T],
    asking: ApiSession,
    *,
    blamed: str,
    place: str,
) -> T:
    """`blamed` is the field for a refused token. Raises InvalidDestination."""
    if not token:
        raise InvalidDestination(f"{blamed}: the bot has no token. Save its account again.")
    client = asking.client(url, BOT, utcnow(), secrets=(token,))
    named: Mapping[str, str] = {**agent(), "Authorization": f"Bot {token}"}
    with closing(asking), told_at_fields(place, account=blamed):
        return client.call("GET", url, headers=named, read=read)


def _name(answer: ApiResponse, of: str = "name") -> str:
    return plain_line(answer.text_at(of))[:100]


def _tags(answer: ApiResponse) -> str:
    """Return one tag per line: id, space, name."""
    said = answer.at("available_tags")
    found = [
        (tag.get("id"), plain_line(str(tag.get("name") or ""))[:MOST_OF_A_TAG])
        for tag in (said if isinstance(said, list) else [])[:MOST_FORUM_TAGS]
        if isinstance(tag, Mapping)
    ]
    return "\n".join(f"{snowflake(number)} {name}" for number, name in found if name)
