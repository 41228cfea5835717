"""The parts of Discord's API that webhooks and a bot use."""

import json
from collections.abc import Mapping
from typing import Any

from demo.answer import NOT_FOUND, ApiAnswer, ApiRequest
from demo.discord.interactions import UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK, Interactions
from demo.discord.limits import InvalidBody, refuse_post
from demo.discord.places import API, BOT_NAME, CHANNEL, CHANNELS, DISCORD, GUILD
from demo.discord.portal import Portal
from demo.timeline import Timeline, TimelinePost

WEBHOOK_ID = "1000000000000000001"
TOKEN = "the-demo-s-own-webhook-token"  # noqa: S105 - the demo's
# As people copy it there. DISCORD_API_URL leads to the demo's own Discord.
WEBHOOK_URL = f"https://discord.com/api/webhooks/{WEBHOOK_ID}/{TOKEN}"
# The bot's own webhooks, one a channel, for posts under another name.
BOT_WEBHOOKS = {channel: f"2{channel[1:]}" for channel in CHANNELS}
UNAUTHORISED = ApiAnswer({"message": "401: Unauthorized", "code": 0}, 401)
UNKNOWN_CHANNEL = ApiAnswer({"message": "Unknown Channel", "code": 10003}, 404)
MISSING_ACCESS = ApiAnswer({"message": "Missing Access", "code": 50001}, 403)


class DiscordApi:
    """The paths below /api/v10."""

    def __init__(self, timeline: Timeline, portal: Portal) -> None:
        self.timeline, self.portal = timeline, portal

    @property
    def interactions(self) -> Interactions:
        return self.portal.interactions

    def answer(self, request: ApiRequest) -> ApiAnswer:
        place = request.path.removeprefix(API).rstrip("/")
        ours = self.interactions.application
        if place.startswith(f"/webhooks/{ours.id}/"):
            return self.interactions.webhook(request, place.removeprefix(f"/webhooks/{ours.id}/"))
        if place.startswith("/webhooks/"):
            return self._webhook(request, place.removeprefix("/webhooks/"))
        if request.headers.get("Authorization") != f"Bot {ours.bot_token}":
            return UNAUTHORISED
        match request.method, place.strip("/").split("/"):
            case "GET", ["users", "@me"]:
                return ApiAnswer({"id": ours.id, "username": BOT_NAME})
            case _, ["channels", channel, *rest]:
                return self._channel(request, channel, rest)
        return self.portal.answer(request, place)

    def messages(self, channel: str) -> list[TimelinePost]:
        """The newest first."""
        return [post for post in self.timeline.posts(DISCORD) if channel_of(post) == channel]

    def _webhook(self, request: ApiRequest, rest: str) -> ApiAnswer:
        number, *place = rest.split("/")
        channels = {WEBHOOK_ID: CHANNEL, **{webhook: channel for channel, webhook in BOT_WEBHOOKS.items()}}
        if place[:1] != [TOKEN] or number not in channels:
            return UNKNOWN_WEBHOOK
        match request.method, place[1:]:
            case "GET", []:
                # It is on no server: whatever names one has a page at discord.com.
                return ApiAnswer({"id": number, "type": 1, "name": "Harbour Notes", "channel_id": CHANNEL})
            case "POST", []:
                return self._posted(request, channels[number], number)
            case _, ["messages", message]:
                return self._one(request, channels[number], message)
        return UNKNOWN_WEBHOOK

    def _channel(self, request: ApiRequest, channel: str, rest: list[str]) -> ApiAnswer:
        if channel not in CHANNELS:
            return UNKNOWN_CHANNEL
        if GUILD not in self.portal.known.guilds:
            return MISSING_ACCESS
        here = self.messages(channel)
        match request.method, rest:
            case "GET", []:
                last = here[0].number if here else None
                about = {"id": channel, "type": 0, "name": CHANNELS[channel], "guild_id": GUILD}
                return ApiAnswer({**about, "last_message_id": last})
            case "GET", ["messages"]:
                return ApiAnswer([message_of(post) for post in here[:100]])
            case "POST", ["messages"]:
                return self._posted(request, channel, self.interactions.application.id)
            case _, ["messages", number]:
                return self._one(request, channel, number)
            case "GET", ["webhooks"]:
                return ApiAnswer([self._bots_webhook(channel)])
        return NOT_FOUND

    def _bots_webhook(self, channel: str) -> dict[str, Any]:
        user = {"id": self.interactions.application.id}
        return {"id": BOT_WEBHOOKS[channel], "type": 1, "token": TOKEN, "channel_id": channel, "user": user}

    def _posted(self, request: ApiRequest, channel: str, author: str) -> ApiAnswer:
        """Once for each nonce that is to be enforced."""
        body = json.loads(request.body)
        if refusal := _refusal(body):
            return refusal
        for post in self.messages(channel) if body.get("enforce_nonce") else ():
            if (post.body or {}).get("nonce") == body.get("nonce"):
                return ApiAnswer(message_of(post))
        kept = {**body, "channel_id": channel, "author": {"id": author}}
        if author != self.interactions.application.id:
            kept["webhook_id"] = author
        return ApiAnswer(message_of(self.timeline.add(DISCORD, kept)))

    def _one(self, request: ApiRequest, channel: str, number: str) -> ApiAnswer:
        post = self.timeline.find(DISCORD, number)
        if post is None or channel_of(post) != channel:
            return UNKNOWN_MESSAGE
        if request.method == "DELETE":
            self.timeline.change(post, None)
            return ApiAnswer(None, 204)
        if request.method == "PATCH":
            changes = json.loads(request.body)
            if refusal := _refusal(changes):
                return refusal
            post = self.timeline.change(post, {**(post.body or {}), **changes})
        return ApiAnswer(message_of(post))


def channel_of(post: TimelinePost) -> str:
    return str((post.body or {}).get("channel_id") or CHANNEL)


def message_of(post: TimelinePost) -> dict[str, Any]:
    body = {name: value for name, value in (post.body or {}).items() if name != "enforce_nonce"}
    return {**body, "id": post.number, "channel_id": channel_of(post)}


def _refusal(body: Mapping[str, Any]) -> ApiAnswer | None:
    try:
        refuse_post(body)
    except InvalidBody as error:
        return ApiAnswer({"message": str(error), "code": error.code}, 400)
    return None
