"""The Telegram channel: a bot's message for each post, or one for a digest."""

from collections.abc import Mapping

from django.conf import settings

from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Looks
from channels.bridge import BridgeChannel
from channels.http.links import shown_text
from channels.http.measures import utf16_units
from channels.letter import Recipient
from channels.telegram.compose import CAPTION_LIMIT, TEXT_LIMIT, Message, message_of
from channels.telegram.session import TelegramSession


class TelegramChannel(BridgeChannel):
    key = "telegram"
    # A bot knows no key, and may not read.
    crash_policy = CrashPolicy.HOLD
    # 20 messages a minute are a group's limit, about 30 a second a bot's.
    lane = LaneDefaults(spacing_seconds=3.0)
    account_lane: LaneDefaults | None = LaneDefaults(serial=False, concurrency=10, rate=25.0, burst=25)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return message_of(said, options, recipient)

    def preview(self, message: Message) -> Looks:
        """As Previews has it."""
        html, limit = (message.caption, CAPTION_LIMIT) if message.picture else (message.text, TEXT_LIMIT)
        text = shown_text(html)
        return Looks(
            text,
            utf16_units(text),
            limit,
            message.refusal,
            pictures=(message.picture,) if message.picture else (),
            notes=("The picture is hidden until somebody taps it.",) if message.has_spoiler else (),
        )

    def connect(self, lane: LaneFacts) -> TelegramSession:
        return TelegramSession(
            lane.credentials.get("token", ""), moved=lane.state, base=settings.TELEGRAM_API_URL
        )
