"""A durable PostgreSQL cluster that can be restarted or crashed."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests import services


class Cluster:
    """Cluster controlled by pg_ctl, run as another user if we are root."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, services.free_port()
        user = services.unprivileged_user()
        self._run: dict[str, Any] = {"user": user, "extra_groups": []} if user else {}
        self.url = f"postgres://postgres@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        services.initialise(self._folder / "data", self._run)
        with (self._folder / "data" / "postgresql.conf").open("a") as config:
            config.write(f"port = {self._port}\nlisten_addresses = '127.0.0.1'\nmax_connections = 200\n")
            config.write(f"unix_socket_directories = '{self._folder}'\n")
        self.control("start")
        services.wait_until(lambda: psycopg.connect(self.url, connect_timeout=2).close(), "PostgreSQL")

    def restart(self, mode: str) -> None:
        """Restart. `fast` ends the sessions and shuts down; `immediate` is a crash with recovery."""
        self.control("restart", "-m", mode)

    def stop(self) -> None:
        if (self._folder / "data" / "postmaster.pid").exists():
            self.control("stop", "-m", "immediate")

    def control(self, *command: str) -> None:
        """Run `pg_ctl start` or the like, and wait for its end."""
        data, log = self._folder / "data", self._folder / "log"
        subprocess.run(
            [str(services.program("pg_ctl")), *command, "-D", str(data), "-l", str(log), "-w", "-t", "60"],
            check=True,
            timeout=90,
            cwd="/",
            stdout=subprocess.DEVNULL,
            **self._run,
        )


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Run a cluster; stop and delete it afterwards. Raises Missing."""
    if not (services.program("initdb") and services.program("pg_ctl")):
        raise services.Missing("PostgreSQL (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="feedletter-chaos-pg-"))
    if user := services.unprivileged_user():
        shutil.chown(folder, user)
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
