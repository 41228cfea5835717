from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning

UNREACHABLE = "Discord only calls addresses that start with https://. Set SITE_URL to the public address."
NAMES = ("DISCORD_APPLICATION_ID", "DISCORD_PUBLIC_KEY", "DISCORD_BOT_TOKEN")


def missing_settings() -> list[str]:
    return [name for name in NAMES if not getattr(settings, name)]


def can_be_called() -> bool:
    """Discord calls only https://. A local substitute, as in the demo, may call http://."""
    return settings.SITE_URL.startswith("https:") or settings.DISCORD_URL.startswith("http:")


def check_discord(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """W001: some settings are missing. W002: Discord cannot reach us."""
    missing = missing_settings()
    if len(missing) == len(NAMES):
        return []
    if missing:
        names = " and ".join(missing)
        text = f"The Discord bot is off. Also set {names}; docs/discord-bot.md says where to find them."
        return [Warning(text, id="chat.W001")]
    if not can_be_called():
        return [Warning(UNREACHABLE, id="chat.W002")]
    return []
