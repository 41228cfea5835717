import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings

from channels import fields
from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LinkCard, Looks, Message, Outcome, Sent, Temporary
from channels.bridge import Bridge
from channels.discord.message import CONTENT_LIMIT, Post, post_of, shown
from channels.discord.options import COMMON, sender
from channels.discord.service import (
    BREAKER,
    FORUMS,
    NEEDS_THREAD,
    OF_ANOTHER,
    UNKNOWN_WEBHOOK,
    WEBHOOK,
    agent,
    code_of,
    name_of,
    sent,
    snowflake,
)
from channels.http.client import ApiClient, Failed, Target, first_accepted
from channels.http.session import DeletingSession, EditingSession
from channels.http.transport import ApiResponse
from channels.oauth import Grant, WebhookOAuth, a_secret, application_fields
from common.ports.channels import InvalidDestination, ParsedDestination

# Others belong to an application, or follow another channel.
INCOMING = 1
WEBHOOK_EXAMPLE = "https://discord.com/api/webhooks/…"
_WEBHOOK = re.compile(
    r"(?i:https://(?:(?:ptb|canary)\.)?discord(?:app)?\.com)"
    r"/api(?:/v\d+)?/webhooks/(\d{5,20})/([\w-]{20,200})/?(?:[?#].*)?"
)


def webhook(typed: str) -> str:
    found = _WEBHOOK.fullmatch(typed)
    if found is None:
        raise ValueError(f"this isn’t a Discord webhook address, such as {WEBHOOK_EXAMPLE}")
    return f"https://discord.com/api/v10/webhooks/{found[1]}/{found[2]}"


class DiscordService(EditingSession, DeletingSession, Bridge):
    """Plain fallback, edits and deletions."""

    breaker = BREAKER
    # Limit: 30 messages a minute per channel.
    lane = LaneDefaults(spacing_seconds=2.0)
    token_field = ""

    def body(self, post: Announcement, options: Mapping[str, str]) -> Post:
        return post_of(post, options)

    def preview(self, message: Message[Post]) -> Looks:
        """Whether there is a thread depends on the channel, too."""
        looks, body = super().preview(message), message.body
        is_forum = message.config.get("channel_type") in FORUMS
        if looks.refusal or body.thread_id or not (is_forum or body.wants_thread):
            return looks
        return replace(looks, title=body.thread_name)

    def looks(self, body: Post) -> Looks:
        words = body.full.get("content", "")
        card = next((_card(embed) for embed in body.full.get("embeds", ())), None)
        return Looks(shown(words), len(words), CONTENT_LIMIT if words else 0, card=card)

    def address(self, to: Target) -> str:
        return settings.DISCORD_API_URL

    def headers(self, to: Target) -> Mapping[str, str]:
        return agent()

    @abstractmethod
    def place_of(self, api: ApiClient, remote_id: str) -> tuple[str, dict[str, str]]:
        """Return the path and the query of a posted message."""

    @abstractmethod
    def posted(self, api: ApiClient, body: Post, version: Mapping[str, Any], *, in_thread: bool) -> Sent:
        """Post a version. Raises Failed."""

    def place_of_another(self, api: ApiClient, remote_id: str) -> tuple[str, dict[str, str]] | None:
        """Return where another author's message can be changed, or None. Raises Failed."""
        return None

    def begins_thread(self, api: ApiClient, body: Post) -> bool:
        return body.wants_thread and not body.thread_id

    def post(self, api: ApiClient, body: Post) -> Outcome:
        """Post in full, else plain; in a new thread if a forum requires it."""
        in_thread = self.begins_thread(api, body)

        def post(version: Mapping[str, Any]) -> Sent:
            nonlocal in_thread
            try:
                return self.posted(api, body, version, in_thread=in_thread)
            except Failed:
                if in_thread or api.answer.ok or code_of(api.answer) != NEEDS_THREAD:
                    raise
                in_thread = True
                return self.posted(api, body, version, in_thread=True)

        return first_accepted((body.full, body.plain), post)

    def change(self, api: ApiClient, body: Post, remote_id: str, parts: Sequence[str]) -> Outcome:
        """Mention nobody."""

        def edit(version: Mapping[str, Any]) -> Outcome:
            # An edit cannot change whether a message is silent.
            new = {
                "content": version["content"],
                "embeds": version["embeds"],
                "allowed_mentions": {"parse": []},
            }
            self._change(api, remote_id, "PATCH", json=new)
            return sent(api.config.get("guild_id", ""), *remote_id.split("/"))

        try:
            return first_accepted((body.full, body.plain), edit)
        except Failed as failed:
            return of_one_post(failed.outcome)

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Outcome:
        try:
            self._change(api, remote_id, "DELETE")
        except Failed as failed:
            return of_one_post(failed.outcome)
        return Sent(remote_id)

    def _change(self, api: ApiClient, remote_id: str, method: str, **options: Any) -> None:
        path, query = self.place_of(api, remote_id)
        try:
            api.call(method, path, params=query, read=lambda _: None, **options)
        except Failed as failed:
            other = self.place_of_another(api, remote_id) if code_of(api.answer) in OF_ANOTHER else None
            if other is None:
                raise
            try:
                api.call(method, other[0], params=other[1], read=lambda _: None, **options)
            except Failed:
                # The webhook is gone, not the channel.
                if code_of(api.answer) == UNKNOWN_WEBHOOK:
                    raise failed from None
                raise


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


class DiscordBridge(DiscordService):
    """Each message has its webhook. Unfinished attempts cannot be looked up."""

    key = "discord"
    label = "Discord"
    sentence = "Posts to a channel of your server through a webhook."
    # No idempotency key, and no reading.
    crash_policy = CrashPolicy.HOLD
    oauth = "channels.discord.bridge.DiscordConnect"
    address_field = "webhook_url"
    destination_fields = (
        fields.secret(
            "webhook_url",
            "Webhook URL",
            "In Discord: the channel's settings, Integrations, Webhooks, New webhook, Copy webhook URL.",
            webhook,
        ),
    )
    own_options = (*COMMON, *sender("the webhook's"))
    service = WEBHOOK

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is the webhook's id."""
        url = given["webhook_url"]
        number = url.split("/")[-2]
        return ParsedDestination(core=number, label=f"Webhook {number}", secrets={"webhook_url": url})

    def place(self, config: Mapping[str, str]) -> str:
        return config.get("channel_id", "")

    def place_of(self, api: ApiClient, remote_id: str) -> tuple[str, dict[str, str]]:
        channel, _, number = remote_id.partition("/")
        elsewhere = channel != api.config.get("channel_id")
        return f"{_path_of(api)}/messages/{number}", {"thread_id": channel} if elsewhere else {}

    def posted(self, api: ApiClient, body: Post, version: Mapping[str, Any], *, in_thread: bool) -> Sent:
        return post_by_webhook(
            api, _path_of(api), body, version, in_thread=in_thread, thread_id=body.thread_id
        )

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Add Discord's data."""

        def read(answer: ApiResponse) -> tuple[Any, str, dict[str, str]]:
            # Without the server there are no links to messages.
            guild = answer.at("guild_id")
            places = {
                "channel_id": snowflake(answer.at("channel_id")),
                "guild_id": snowflake(guild) if guild else "",
            }
            return answer.at("type"), name_of(answer) or "Webhook", places

        kind, name, places = api.call("GET", _path_of(api), read=read)
        if kind != INCOMING:
            raise InvalidDestination(
                "webhook_url: this is another kind of webhook. Create a new one for this bridge."
            )
        label = f"{name} ({destination.core})"
        return replace(destination, label=label, config={**destination.config, **places})


def of_one_post(outcome: Outcome) -> Outcome:
    """Keep the lane open: the thread may lack the permission, not the channel."""
    if isinstance(outcome, Temporary) and outcome.forbidden:
        return replace(outcome, stops_lane=False, forbidden=False)
    return outcome


def post_by_webhook(
    api: ApiClient, path: str, body: Post, version: Mapping[str, Any], *, in_thread: bool, thread_id: str
) -> Sent:
    """Use the message's name and picture. Raises Failed."""
    # Without `wait`, Discord always reports success.
    query = {"wait": "true", **({"thread_id": thread_id} if thread_id else {})}
    new = {**body.look, **version}
    if version is body.plain:
        new.pop("avatar_url", None)
    if in_thread:
        new["thread_name"] = body.thread_name
        if tags := body.applied_tags(api.config.get("tags", "")):
            new["applied_tags"] = tags

    def read(answer: ApiResponse) -> Sent:
        guild = api.config.get("guild_id", "")
        return sent(guild, snowflake(answer.at("channel_id")), snowflake(answer.at("id")))

    # The address is enough: webhooks need no token of a bot.
    url = f"{api.url}{path}"
    return api.call("POST", url, params=query, json=new, headers=agent(), read=read, posting=True)


def _path_of(api: ApiClient) -> str:
    """The stored URL ends with id and token."""
    return f"/webhooks/{'/'.join(api.to.secrets['webhook_url'].split('/')[-2:])}"


def _card(embed: Mapping[str, Any]) -> LinkCard:
    return LinkCard(
        title=shown(embed.get("title", "")),
        text=shown(embed.get("description", "")),
        source=embed.get("footer", {}).get("text", ""),
        picture=(embed.get("image") or embed.get("thumbnail") or {}).get("url", ""),
        picture_below=True,
        above=embed.get("author", {}).get("name", ""),
    )
