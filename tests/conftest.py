"""Fixtures for every test: a new database, loopback only, services if available."""

import gc
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from ipaddress import ip_network
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test import TestCase, TransactionTestCase
from pytest_django import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

from common.optional_apps import is_on
from common.parts import Shown
from feedletter_site.monitoring import figures
from feedletter_site.monitoring.vitals import VITALS
from feedletter_site.ticks.schedule import ensure_schedule
from tests import services
from tests.databases import create_database, drop_database, migrated_database, migrated_file
from tests.dear_tests import FILE
from tests.examples import SLOW
from tests.guard import LoopbackGuard
from tests.servers.dns_server import DnsServer
from tests.workers import WORKER

# Here “now and then” is the very fault that is looked for.
NEVER_RETRIED = ("tests/load/", "race", "chaos", "kill", "twice", "double")
DEAR = frozenset(FILE.read_text("utf-8").split())
# Why the running test has to commit.
REASONS: set[str] = set()
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "live_server"}
# By database: the tables of the schedule, with their rows.
SCHEDULE: dict[str, dict[str, list[tuple[Any, ...]]]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--second-database",
        action="store_true",
        help="only tests that use the database, in packages whose conftest.py has SECOND_DATABASE",
    )


def pytest_configure(config: pytest.Config) -> None:
    # whitenoise, in a clone without collected static files: they come from the packages.
    config.addinivalue_line("filterwarnings", "ignore:No directory at:UserWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collected objects, Django and all tests, stay to the end: garbage collection would take a tenth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if not is_left_out(config, item)]
    for item in kept:
        if item.get_closest_marker("browser"):
            item.add_marker(SLOW)
        elif item.nodeid.partition("[")[0] in DEAR:
            item.add_marker(pytest.mark.slow(dear=True))
        if any(word in item.nodeid for word in NEVER_RETRIED):
            item.add_marker(pytest.mark.flaky(reruns=0))
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def is_left_out(config: pytest.Config, item: pytest.Item) -> bool:
    if any(not is_on(app) for app in apps_needed(item)):
        return True
    is_second = config.getoption("--second-database")
    return bool(is_second and not (declared(item, "SECOND_DATABASE") and touches_database(item)))


def apps_needed(item: pytest.Item) -> set[str]:
    by_mark = {app for mark in item.iter_markers("needs") for app in mark.args}
    return by_mark | {declared(item, "NEEDS_APP")} - {""}


def declared(item: pytest.Item, name: str) -> str:
    """Return this variable of the test's module or of the closest conftest.py that has it, or ""."""
    module = str(item.module.__name__)  # type: ignore[attr-defined]
    packages = [module.rsplit(".", count)[0] for count in range(1, module.count(".") + 1)]
    loaded = (sys.modules.get(each) for each in (module, *(f"{package}.conftest" for package in packages)))
    return next((str(getattr(each, name)) for each in loaded if hasattr(each, name)), "")


def touches_database(item: pytest.Item) -> bool:
    if any(item.get_closest_marker(name) for name in ("postgres", "browser")):
        return False
    if item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())):
        return True
    return issubclass(getattr(item, "cls", None) or object, (TestCase, TransactionTestCase))


def found(service: AbstractContextManager[str]) -> Iterator[str]:
    """Yield the service; without it skip the test, or fail if services are required."""
    try:
        with service as url:
            yield url
    except services.Missing as error:
        if os.environ.get("REQUIRE_SERVICES") == "1":
            pytest.fail(f"Missing: {error}")
        pytest.skip(f"Missing: {error}")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Yield a PostgreSQL for new databases (postgres://postgres@127.0.0.1:port/postgres)."""
    yield from found(services.postgres())


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Yield an unused Redis database."""
    yield from found(services.redis_server())


@pytest.fixture(scope="session")
def pooler_url(postgres_url: str) -> Iterator[str]:
    """Yield a PgBouncer in transaction mode in front of `postgres_url`."""
    yield from found(services.pgbouncer(postgres_url))


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Copy a migrated database for each process, instead of pytest-django's migration.

    SQLite uses a file, as in production: in memory, threads would share one connection's locks.
    """
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        copy = tmp_path_factory.mktemp("sqlite") / "test.db"
        shutil.copy(migrated_file(), copy)
        settings["NAME"] = str(copy)
        yield
        return
    server = request.getfixturevalue("postgres_url")
    name = f"test_{settings['NAME']}_{os.environ.get(WORKER, '')}"
    create_database(server, name, template=migrated_database(server))
    settings["NAME"] = name
    yield
    with django_db_blocker.unblock():
        connection.close()
    drop_database(server, name)


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> None:
    """A good hash takes a quarter of a second for each user of a test."""
    django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> Iterator[None]:
    """Empty only the tables with rows, in a tenth of the time of Django's flush.

    Content types and permissions are kept: Django's flush would create them anew after each test.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", delete_rows)
        yield


def delete_rows(case: Any) -> None:
    """Clean up after a TransactionTestCase.

    The rows of the schedule, which migrations create, are restored; creating them anew takes forty
    milliseconds.
    """
    kept = {ContentType._meta.db_table, Permission._meta.db_table}
    for alias in case._databases_names(include_mirrors=False):
        connection = connections[alias]
        tables = sorted(set(connection.introspection.django_table_names()) - kept)
        # Foreign keys are checked at the end of the transaction, so that the order does not matter.
        with transaction.atomic(using=alias), connection.cursor() as cursor:
            schedule = SCHEDULE.setdefault(connection.vendor, {})
            if not schedule:
                ours = [name for name in tables if "celery_beat" in name]
                for name in ours:
                    cursor.execute(f"DELETE FROM {name}")
                ensure_schedule()
                schedule |= {name: rows_of(cursor, name) for name in ours}
            cursor.execute(
                " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in tables)
            )
            full = {name for (name,) in cursor.fetchall()}
            for name in sorted(full - schedule.keys()):
                cursor.execute(f"DELETE FROM {name}")
            for name, rows in schedule.items():
                if rows_of(cursor, name) != rows:
                    cursor.execute(f"DELETE FROM {name}")
                    for row in rows:
                        cursor.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)


def rows_of(cursor: Any, table: str) -> list[tuple[Any, ...]]:
    cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
    return list(cursor.fetchall())


@pytest.fixture(scope="session", autouse=True)
def static_files_looked_up_once() -> Iterator[None]:
    """Each of Django's clients creates all middleware anew, and this one scans every static file."""
    look_up, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def remembered(middleware: Any) -> None:
        key = (middleware.static_prefix, middleware.max_age)
        if key not in found:
            look_up(middleware)
            found[key] = middleware.files
        middleware.files = dict(found[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remembered)
        yield


@pytest.fixture(scope="session", autouse=True)
def figures_are_never_kept() -> Iterator[None]:
    """On a busy machine any count is slow, and the next one would get cached figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "SLOW_SECONDS", 60)
        yield


@pytest.fixture(scope="session", autouse=True)
def a_part_is_never_shown_undrawn() -> None:
    """A template that lacks `|block` or `|inline` fails."""
    Shown.__str__ = None  # type: ignore[assignment]


@pytest.fixture(scope="session", autouse=True)
def no_signs_of_life() -> None:
    """Any task that ends in this process would write them, in tests without a database, too."""
    VITALS.write = lambda *, now=False: None  # type: ignore[method-assign]


@pytest.fixture(scope="session", autouse=True)
def loopback_guard() -> Iterator[LoopbackGuard]:
    guard = LoopbackGuard()
    with guard.installed():
        yield guard


@pytest.fixture(autouse=True)
def on_loopback(loopback_guard: LoopbackGuard) -> Iterator[None]:
    """Fail a test that tried to leave this machine, even if its code swallowed the error."""
    loopback_guard.tried.clear()
    yield
    assert not loopback_guard.tried, f"Tests stay on loopback, but this one called {loopback_guard.tried}"


@pytest.fixture(scope="session", autouse=True)
def reasons_to_commit_are_noted() -> Iterator[None]:
    start, wait_for_commit = subprocess.Popen.__init__, BaseDatabaseWrapper.on_commit
    begin = threading.Thread.start

    def started(process: Any, *args: Any, **options: Any) -> None:
        REASONS.add("a process")
        start(process, *args, **options)

    def begins(thread: threading.Thread) -> None:
        # It connects only if it gets to work before the first answer.
        if thread.name.startswith(("send ", "compose")):
            REASONS.add("another connection")
        begin(thread)

    def waits(connection: Any, *args: Any, **options: Any) -> None:
        REASONS.add("on_commit")
        wait_for_commit(connection, *args, **options)

    def connected(connection: Any, **_: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            REASONS.add("another connection")

    connection_created.connect(connected, weak=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", started)
        patch.setattr(BaseDatabaseWrapper, "on_commit", waits)
        patch.setattr(threading.Thread, "start", begins)
        yield


@pytest.fixture
def commits() -> None:
    """For a test whose commits others see: a child that goes on, or a copy of the database."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    REASONS.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that commits without need: emptying the tables afterwards takes a tenth of a second."""
    result = yield
    mark = item.get_closest_marker("django_db")
    if mark and mark.kwargs.get("transaction"):
        fixtures = {"live_server", "postgres_url", "commits"} & set(getattr(item, "fixturenames", ()))
        assert REASONS or fixtures, "Nothing here needs a commit: take transaction=True away."
    return result


@pytest.fixture(autouse=True)
def cold_cache() -> None:
    """On a busy machine pages cache slow results; no other test may find them."""
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def no_gap_between_requests() -> None:
    """All servers of a test are on one host."""
    django_settings.POLL_HOST_GAP = 0.0


@pytest.fixture(scope="session")
def name_server() -> Iterator[DnsServer]:
    """Run a name server that knows no name."""
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def no_names_but_ours(name_server: DnsServer) -> None:
    django_settings.DNS_SERVERS = [name_server.address]


@pytest.fixture
def loopback_allowed(settings: Any) -> None:
    """Let the safe client reach servers of the test on 127.0.0.1."""
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]


@pytest.fixture
def live_urls(live_server: Any, settings: Any) -> str:
    """Return the URL of a live server, which is also that of the program's absolute links."""
    settings.SITE_URL = live_server.url
    return str(live_server.url)
