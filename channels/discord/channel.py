from collections.abc import Mapping
from typing import Any

from django.conf import settings

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, LinkCard, Looks
from channels.bridge import OldBridgeChannel
from channels.discord.bot_session import FORUMS, BotSession
from channels.discord.message import CONTENT_LIMIT, Message, message_of, shown
from channels.discord.service import BREAKER
from channels.discord.session import WebhookSession
from channels.letter import Recipient
from channels.rules.breakers import Breaker


class _Discord(OldBridgeChannel):
    breaker: Breaker | None = BREAKER

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return message_of(said, options, recipient)

    def preview(self, message: Message) -> Looks:
        words = message.full.get("content", "")
        card = next((_card(embed) for embed in message.full.get("embeds", ())), None)
        is_thread = message.config.get("channel_type") in FORUMS or message.wants_thread
        return Looks(
            shown(words),
            len(words),
            CONTENT_LIMIT if words else 0,
            message.refusal,
            title=message.thread_name if is_thread and not message.thread_id else "",
            card=card,
        )


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

    def connect(self, lane: LaneFacts) -> WebhookSession:
        return WebhookSession(base=settings.DISCORD_API_URL)


class DiscordBotChannel(_Discord):
    key = "discord_bot"
    crash_policy = CrashPolicy.LOOK_UP
    lane = LaneDefaults(spacing_seconds=2.0)
    # Limit: 50 requests per second per bot, for the burst and the rate together.
    account_lane: LaneDefaults | None = LaneDefaults(serial=False, concurrency=10, rate=40.0, burst=10)

    def connect(self, lane: LaneFacts) -> BotSession:
        return BotSession(lane.credentials.get("token", ""), base=settings.DISCORD_API_URL)
