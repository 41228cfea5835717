"""PostgreSQL, Redis and Chromium for the tests: temporary or running ones."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

START_SECONDS = 30
RUNNING_POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
# The first is the same browser without windows: half the work.
CHROMIUM = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
POOLER = """[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
max_client_conn = 200
logfile = {folder}/pgbouncer.log
"""


class Missing(Exception):
    """A service that is neither installed nor running. The message says what to install."""


@contextmanager
def wanted() -> Iterator[None]:
    """Skip the test if a service is missing, or fail it with REQUIRE_SERVICES=1."""
    try:
        yield
    except Missing as error:
        give_up = pytest.fail if os.environ.get("REQUIRE_SERVICES") == "1" else pytest.skip
        give_up(f"Missing: {error}")


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free at the moment."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(*names: str) -> str | None:
    """Return the path of the first of these programs, also from Debian's hidden folders."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin: -float(bin.parent.name))
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *map(str, debian)])
    return next((found for name in names if (found := shutil.which(name, path=places))), None)


def chromium() -> str:
    """Return the path of Chromium. Raises Missing."""
    path = program(*CHROMIUM)
    if path is None:
        raise Missing("Chromium (Debian: chromium-headless-shell)")
    return path


@contextmanager
def postgres(*, durable: bool = False) -> Iterator[str]:
    """Yield the URL of a PostgreSQL where tests may create databases. Raises Missing.

    `durable`: it waits for the disk, as in production.
    """
    if not durable and (given := os.environ.get("TEST_POSTGRES_URL")):
        yield given
    elif program("initdb") and program("postgres"):
        with own_postgres(durable=durable) as url:
            yield url
    elif answers(lambda: psycopg.connect(RUNNING_POSTGRES, connect_timeout=2).close()):
        yield RUNNING_POSTGRES
    else:
        raise Missing("PostgreSQL (Debian: postgresql)")


@contextmanager
def redis_server() -> Iterator[str]:
    """Yield the URL of an unused Redis database. Raises Missing."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given
    elif program("redis-server"):
        with own_redis() as url:
            yield url
    elif empty := empty_redis():
        import redis

        yield empty
        redis.Redis.from_url(empty).flushdb()
    else:
        raise Missing("Redis (Debian: redis-server)")


@contextmanager
def own_postgres(*, durable: bool = False) -> Iterator[str]:
    """Run a cluster in a temporary folder; unless `durable`, without slow crash safety."""
    folder, port = Path(tempfile.mkdtemp(prefix="feedletter-pg-")), free_port()
    user = unprivileged_user()
    if user:
        shutil.chown(folder, user)
    run: dict[str, Any] = {"user": user, "extra_groups": []} if user else {}
    server = [program("postgres"), "-D", folder / "data", "-k", folder, "-p", port, "-h", "127.0.0.1"]
    careless = () if durable else ("fsync=off", "full_page_writes=off")
    for setting in (*careless, "max_connections=200"):
        server += ["-c", setting]
    url = f"postgres://postgres@127.0.0.1:{port}/postgres"
    try:
        initialise(folder / "data", run)
        with running([str(part) for part in server], **run):
            wait_until(lambda: psycopg.connect(url, connect_timeout=2).close(), "PostgreSQL")
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged_user() -> str | None:
    """Return the user for PostgreSQL, which refuses root; None if we are not root."""
    if os.geteuid() != 0:
        return None
    return "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"


def initialise(data: Path, run: dict[str, Any]) -> None:
    """Run initdb, trusting everyone on this machine. Its output is in the error on failure."""
    command = [str(program("initdb")), "--pgdata", str(data), "--username=postgres", "--auth=trust"]
    command += ["--no-sync", "--encoding=UTF8", "--locale=C"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, **run)
    if done.returncode:
        raise RuntimeError(f"initdb failed: {done.stderr[-500:]}")


@contextmanager
def own_redis() -> Iterator[str]:
    """Run an in-memory Redis on a free port."""
    port = free_port()
    command = [str(program("redis-server")), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    url = f"redis://127.0.0.1:{port}/0"
    with running(command):
        wait_until(lambda: ping(port), "Redis")
        yield url


def ping(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 2) as connection:
        connection.sendall(b"PING\r\n")
        if connection.recv(64) != b"+PONG\r\n":
            raise ConnectionError("That is not a Redis.")


@contextmanager
def pgbouncer(server: str) -> Iterator[str]:
    """Yield the URL of a PgBouncer for that PostgreSQL, in transaction mode. Raises Missing."""
    if not program("pgbouncer"):
        raise Missing("PgBouncer (Debian: pgbouncer)")
    folder, listen, parts = Path(tempfile.mkdtemp(prefix="feedletter-pool-")), free_port(), urlsplit(server)
    config = folder / "pgbouncer.ini"
    where = {"host": parts.hostname, "port": parts.port or 5432, "listen": listen, "folder": folder}
    where["user"] = parts.username
    config.write_text(POOLER.format(**where))
    user = unprivileged_user()
    if user:
        shutil.chown(folder, user)
    run: dict[str, Any] = {"user": user, "extra_groups": []} if user else {}
    url = parts._replace(netloc=f"{parts.username}@127.0.0.1:{listen}").geturl()
    try:
        with running([str(program("pgbouncer")), str(config)], **run):
            wait_until(lambda: psycopg.connect(url, connect_timeout=2).close(), "PgBouncer")
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def empty_redis() -> str | None:
    """Return an empty database of the running Redis, to be used for a while."""
    # Its asynchronous half takes a sixth of a second to import, in every run of pytest.
    import redis

    for number in range(15, 0, -1):
        url = f"redis://127.0.0.1:6379/{number}"
        try:
            if redis.Redis.from_url(url, socket_timeout=2).dbsize() == 0:
                return url
        except redis.RedisError:
            return None
    return None


def answers(call: Callable[[], object]) -> bool:
    try:
        call()
    except (OSError, psycopg.Error):
        return False
    return True


def wait_until(call: Callable[[], object], name: str) -> None:
    """Wait until `call` no longer raises. Raises RuntimeError after 30 seconds."""
    end = time.monotonic() + START_SECONDS
    while not answers(call):
        if time.monotonic() > end:
            raise RuntimeError(f"{name} did not start within {START_SECONDS} seconds.")
        time.sleep(0.02)


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a silent child process during the block: ended by SIGINT, after ten seconds by SIGKILL."""
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd="/", **options)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
