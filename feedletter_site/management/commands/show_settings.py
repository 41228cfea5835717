"""`show_settings`: the value of each setting, and where it came from."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.cli.commands import FeedletterCommand, Result
from feedletter_site import env

SECRETS = {"SECRET_KEY", "SECRET_KEY_FALLBACKS", "METRICS_TOKEN", "UPSTREAM_SALT", "ANYMAIL_WEBHOOK_SECRET"}
ADDRESSES = {"DATABASE_URL", "EMAIL_URL", "BOUNCE_URL", "CELERY_BROKER_URL"}


class Command(FeedletterCommand):
    help = "Lists the settings as they count here. Secrets are masked."

    def run(self, **options: Any) -> Result:
        return [
            {"name": name, "value": shown(name, text), "from": origin}
            for name, (text, origin) in sorted(env.read.items())
        ]


def shown(name: str, text: str) -> Any:
    """The value, or the part of it that is no secret."""
    if name in SECRETS:
        return "(set)" if text else ""
    if name in ADDRESSES:
        parts = urlsplit(text)
        place = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"…@{place[2]}" if place[1] else place[2], query="").geturl()
    value = getattr(settings, name, text)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
