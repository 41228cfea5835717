"""The demo's own folder, database and port, separate from the installation."""

import fcntl
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.management import CommandError

from common.program import DEMO
from demo import MARK
from demo.content.post import ZONE
from demo.discord.interactions import Application
from demo.discord.places import API as DISCORD_API
from demo.discord.portal import KEPT_IN
from demo.fediverse import KEPT_IN as ADA
from demo.services import KEY_NAME
from demo.sign_in import LINKS
from demo.timeline import PICTURES, TIMELINE
from feedletter_site import env
from feedletter_site.management.commands.up import is_free

# These would affect the installation.
NOT_OURS = (
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "SECRET_KEY",
    "SECRET_KEY_FALLBACKS",
    "SITE_URL",
    "ALLOWED_HOSTS",
    "FORMER_HOSTS",
    "EMAIL_URL",
    "DEFAULT_FROM_EMAIL",
    "BOUNCE_DOMAIN",
    "TRUSTED_PROXIES",
    "ALLOW_PRIVATE_NETWORKS",
    "DISCORD_API_URL",
    "DISCORD_APPLICATION_ID",
    "DISCORD_BOT_TOKEN",
    "DISCORD_PUBLIC_KEY",
    "DISCORD_URL",
    "TELEGRAM_API_URL",
    "POLL_THREADS",
    "POLL_HOST_REQUESTS",
    "READER",
)
LOOPBACK = "127.0.0.1"
PORTS = 50
APPLICATION = "1000000000000000005"
LEFTOVERS = ("*.db", "*.db-*", "up.alive", TIMELINE, KEPT_IN, ADA, f"{PICTURES}/*", f"{LINKS}/*")


def enter() -> None:
    """Restart this command in the demo's environment, unless it already has it."""
    folder = demo_folder()
    if os.environ.get(MARK) == str(folder):
        return
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment(folder, os.environ))  # noqa: S606


def demo_folder() -> Path:
    folder = Path(settings.DATA_DIR).resolve()
    return folder if folder.name == "demo" else folder / "demo"


def environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    host, port = env.bind("BIND", "127.0.0.1:8000")
    port = free_port(host, port)
    services = f"http://{LOOPBACK}:{free_port(LOOPBACK, port + 1)}"
    files = {f"{name}_FILE" for name in NOT_OURS}
    kept = {name: value for name, value in given.items() if name not in NOT_OURS and name not in files}
    return {
        **kept,
        MARK: str(folder),
        "DATA_DIR": str(folder),
        "BIND": f"{host}:{port}",
        "SITE_URL": env.url_of((host, port)),
        "EMAIL_URL": "mailbox:",
        # The blog and the services are on this machine.
        "ALLOW_PRIVATE_NETWORKS": f"{LOOPBACK}/32",
        "DISCORD_API_URL": f"{services}{DISCORD_API}",
        "DISCORD_URL": services,
        **application_settings(),
        "POLL_HOST_GAP": "0",
        # Static files come from the packages.
        "PYTHONWARNINGS": "ignore:No directory at",
        "DEFAULT_FROM_EMAIL": "Harbour Letters <post@harbour.example.org>",
        "TIME_ZONE": str(ZONE),
    }


def application_settings() -> dict[str, str]:
    """Return settings of a new bot. Owners of its key can act as Discord."""
    key = Ed25519PrivateKey.generate()
    ours = Application(APPLICATION, key, secrets.token_urlsafe(32))
    return {
        KEY_NAME: key.private_bytes_raw().hex(),
        "DISCORD_APPLICATION_ID": ours.id,
        "DISCORD_BOT_TOKEN": ours.bot_token,
        "DISCORD_PUBLIC_KEY": ours.public_key,
    }


def free_port(host: str, wanted: int) -> int:
    """Raises CommandError."""
    for port in range(wanted, min(wanted + PORTS, 65536)):
        if is_free(host, port):
            return port
    raise CommandError(
        f"No port from {wanted} on is free on {host}. Choose another one: BIND={host}:9000 {DEMO}"
    )


def make_folder_fresh(folder: Path) -> None:
    """Lock the folder and empty it. Raises CommandError if another demo uses it."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise CommandError(f"A demo is already running in {folder}. Stop it first, with Ctrl-C.") from error
    # The supervisor, in the same process, keeps it.
    os.set_inheritable(lock, True)
    for pattern in LEFTOVERS:
        for path in folder.glob(pattern):
            path.unlink()
