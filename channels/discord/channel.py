from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LinkCard, Looks, Message
from channels.bridge import BridgeChannel
from channels.discord.bot_session import FORUMS, BotSession
from channels.discord.message import CONTENT_LIMIT, Post, post_of, shown
from channels.discord.service import BREAKER
from channels.discord.session import WebhookSession


class _Discord(BridgeChannel):
    breaker = BREAKER

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


def _card(embed: Mapping[str, Any]) -> LinkCard:
    return LinkCard(
        title=shown(embed.get("title", "")),
        text=shown(embed.get("description", "")),
        source=embed.get("footer", {}).get("text", ""),
        picture=(embed.get("image") or embed.get("thumbnail") or {}).get("url", ""),
        picture_below=True,
        above=embed.get("author", {}).get("name", ""),
    )


class DiscordChannel(_Discord):
    key = "discord"
    # No idempotency key, and no reading.
    crash_policy = CrashPolicy.HOLD
    # Limit: 30 messages a minute per channel.
    lane = LaneDefaults(spacing_seconds=2.0)
    session = WebhookSession


class DiscordBotChannel(_Discord):
    key = "discord_bot"
    crash_policy = CrashPolicy.LOOK_UP
    lane = LaneDefaults(spacing_seconds=2.0)
    # Limit: 50 requests per second per bot, for the burst and the rate together.
    account_lane = LaneDefaults(serial=False, concurrency=10, rate=40.0, burst=10)
    session = BotSession
