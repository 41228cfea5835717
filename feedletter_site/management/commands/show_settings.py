from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.cli.commands import FeedletterCommand, Result
from feedletter_site import env

# Masks later settings, too.
SECRET_ENDINGS = ("KEY", "KEY_FALLBACKS", "TOKEN", "SECRET", "SALT", "PASSWORD")
NOT_SECRET = {"DISCORD_PUBLIC_KEY"}


class Command(FeedletterCommand):
    help = "Lists the settings in effect. Secrets are masked."

    def run(self, **options: Any) -> Result:
        return [
            {"name": name, "value": shown(name, text), "from": origin}
            for name, (text, origin) in sorted(env.read.items())
        ]


def shown(name: str, text: str) -> str:
    """Mask secrets, and the login and parameters of URLs."""
    if name.endswith(SECRET_ENDINGS) and name not in NOT_SECRET:
        return "(set)" if text else ""
    if "://" in text and not isinstance(getattr(settings, name, text), list):
        return without_login(text)
    return typed(getattr(settings, name, text))


def typed(value: Any) -> str:
    """Write a value as one types it into the environment."""
    match value:
        case bool():
            return "1" if value else "0"
        case (str() as host, int() as port):
            return f"[{host}]:{port}" if ":" in host and host[0] != "[" else f"{host}:{port}"
        case list():
            return ",".join(dict.fromkeys(typed(part) for part in value))
        case _:
            return without_login(str(value)) if "://" in str(value) else str(value)


def without_login(url: str) -> str:
    parts = urlsplit(url)
    before, at, place = parts.netloc.rpartition("@")
    seen = parts._replace(netloc=f"…@{place}" if before and at else place, query="").geturl()
    # `geturl` takes an empty host, as in sqlite:////var/…, for none.
    return seen if parts.netloc or "://" not in url else f"{parts.scheme}://{parts.path}"
