from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.cli.commands import FeedletterCommand, Result
from feedletter_site import env

# Masks later settings, too.
SECRET_ENDINGS = ("KEY", "KEY_FALLBACKS", "TOKEN", "SECRET", "SALT", "PASSWORD")
NOT_SECRET = {"DISCORD_PUBLIC_KEY"}


class Command(FeedletterCommand):
    help = "Lists the settings as they count here. Secrets are masked."

    def run(self, **options: Any) -> Result:
        return [
            {"name": name, "value": shown(name, text), "from": origin}
            for name, (text, origin) in sorted(env.read.items())
        ]


def shown(name: str, text: str) -> str:
    """Mask secrets, and the login and parameters of URLs."""
    if name.endswith(SECRET_ENDINGS) and name not in NOT_SECRET:
        return "(set)" if text else ""
    value = getattr(settings, name, text)
    if isinstance(value, list):
        return ", ".join(without_login(str(part)) for part in value)
    return without_login(text) if "://" in text else str(value)


def without_login(url: str) -> str:
    parts = urlsplit(url)
    before, at, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"…@{place}" if before and at else place, query="").geturl()
