"""Supervisor of all processes on one machine."""

import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, CommandParser, call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.urls import reverse

from common.cli.commands import FeedletterCommand, Printed
from common.program import IS_CHECKOUT, MANAGE, START
from delivery.accounts.accounts import keeps_letters
from feedletter_site import env
from feedletter_site.sign_in.setup import offer_setup
from feedletter_site.supervisor import ProcessPlan, become
from feedletter_site.ticks.schedule import THREADS, queues

WEB = ["-k", "common.web_worker.BufferingWorker", "--threads", "8", "--worker-connections", "500"]
WEB += ["-w", "1", "--graceful-timeout", "20", "--no-control-socket", "--log-level", "warning"]
# TRUSTED_PROXIES decides about proxies, not gunicorn.
WEB += ["--forwarded-allow-ips", ""]
WORKER = ["-P", "threads", "-c", str(THREADS), "--without-gossip", "--without-mingle", "--without-heartbeat"]
WORKER += ["--loglevel", "warning"]


class Command(FeedletterCommand):
    help = "Creates the tables, then runs the site and its workers until Ctrl-C."
    requires_system_checks = "__all__"

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", metavar="HOST:PORT", help="Where to listen, instead of BIND.")

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options)
        host, port = address(options["bind"])
        become(plan(f"{host}:{port}"))

    def run(self, **options: Any) -> Printed:
        host, port = address(options["bind"])
        with ExitStack() as ending:
            for file in ending.enter_context(data_locked()):
                os.set_inheritable(file, True)
            refuse_taken(host, port)
            with self.progress("Creating tables", expected="about ten seconds, the first time"):
                call_command("migrate", verbosity=0)
            said = greeting(point_links_to(host, port), offer_setup())
            # The supervisor, which replaces this process, keeps the locks.
            self.kept = ending.pop_all()
        return said


def greeting(site: str, setup_path: str | None) -> Printed:
    setup_url = f"{site}{setup_path}" if setup_path else None
    lines = [f"Feedletter is at {site} (admin: {site}/admin/). Stop it with Ctrl-C."]
    if not IS_CHECKOUT:
        lines.append(f"Data is in {settings.DATA_DIR}. Settings can be in {settings.DATA_DIR}/.env")
    if setup_url:
        lines.append(f"Create your account with this link, which works once: {setup_url}")
    is_kept = keeps_letters()
    if is_kept:
        lines.append(
            f"Emails are kept here and not sent until you set up email ({site}{reverse('mail_set_up')})."
            f" Read them at {site}{reverse('delivery:mailbox')}"
        )
    facts = {"url": site, "setup_url": setup_url, "mail_kept_here": is_kept}
    return Printed("\n".join(lines), facts)


def address(bind: str | None) -> tuple[str, int]:
    """Raises CommandError."""
    if bind:
        os.environ["BIND"] = bind
    try:
        return env.bind("BIND", "127.0.0.1:8000")
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from error


@contextmanager
def data_locked() -> Iterator[list[int]]:
    """Lock DATA_DIR and an SQLite database. Raises CommandError."""
    files: list[int] = []
    try:
        files.append(refuse_second(Path(settings.DATA_DIR)))
        files += [file for file in [refuse_shared_file(connection)] if file is not None]
        yield files
    finally:
        for file in files:
            # Closing would leave it locked while a forked process has the file, too.
            fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)


def refuse_second(folder: Path) -> int:
    """Return the locked file. Raises CommandError if another `up` has it."""
    return lock(folder / "up.lock", "DATA_DIR", f"runs with {folder} as its DATA_DIR")


def refuse_shared_file(connection: BaseDatabaseWrapper) -> int | None:
    """Lock an SQLite database against an `up` with another DATA_DIR. Raises CommandError.

    Both would tick, with different secret keys.
    """
    if connection.vendor != "sqlite":
        return None
    path = Path(connection.settings_dict["NAME"]).resolve()
    return lock(path.with_name(f"{path.name}.up"), "DATABASE_URL", f"uses the database {path}")


def lock(path: Path, setting: str, doing: str) -> int:
    """Return the locked file. `doing` describes a process that has the lock."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CommandError(f"{setting} cannot be written to ({error.strerror}: {path}).") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(file)
        raise CommandError(
            f"Another “{MANAGE} up” {doing}. Stop it first, or set another DATA_DIR and DATABASE_URL."
        ) from error
    return file


def next_free(host: str, port: int) -> int:
    """Return a port near this one that can be bound, or the next one."""
    return next((near for near in range(port + 1, min(port + 50, 65536)) if is_free(host, near)), port + 1)


def is_free(host: str, port: int) -> bool:
    try:
        probe(host, port)
    except OSError:
        return False
    return True


def probe(host: str, port: int) -> None:
    """Raises OSError if the port cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))


def refuse_taken(host: str, port: int) -> None:
    """Raise CommandError if the port is taken, because a web process would restart for ever."""
    try:
        probe(host, port)
    except OSError as error:
        raise CommandError(
            f"Feedletter can't listen on {host}:{port} ({error.strerror}). "
            f"Choose another port: BIND={host}:{next_free(host, port)} {START}"
        ) from error


def point_links_to(host: str, port: int) -> str:
    """Return SITE_URL, by default the bound address, and set it for child processes."""
    if not env.text("SITE_URL"):
        os.environ["SITE_URL"] = env.url_of((host, port))
    return env.site_url("SITE_URL", "")


def plan(bind: str, processes: int | None = None) -> ProcessPlan:
    # Uncollected static files are no reason to warn.
    python = [sys.executable, "-W", "ignore:No directory at", "-m"]
    web = [*python, "gunicorn", "--bind", bind, *WEB]
    if settings.EMBEDDED and (processes or settings.PROCESSES) == 1:
        # Two seconds before the supervisor; and a machine that halts for a minute aborts no emails.
        web += ["--graceful-timeout", "28", "--timeout", "120"]
        commands = {"site": [*web, "feedletter_site.wsgi:with_stages()"]}
    else:
        # `up` has run the checks, which would load every page, 20 MB.
        worker = [*python, "celery", "--quiet", "--skip-checks", "-A", "feedletter_site", "worker"]
        commands = {
            "web": [*web, "feedletter_site.wsgi"],
            "worker": [*worker, *WORKER, "-Q", ",".join(queues())],
        }
    if not settings.EMBEDDED:
        commands["beat"] = [*python, "celery", "--quiet", "-A", "feedletter_site", "beat", "--pidfile", ""]
    return ProcessPlan(
        commands=commands,
        folder=str(settings.BASE_DIR),
        alive=str(Path(settings.DATA_DIR) / "up.alive"),
        json_logs=settings.LOG_FORMAT == "json",
        site=bind,
    )
