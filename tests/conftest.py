"""What every test may count on: a database of its own, loopback only, services where there are any."""

import gc
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import connection, connections, transaction
from django.test import TestCase, TransactionTestCase
from pytest_django import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

from feedletter_site.monitoring import figures
from feedletter_site.monitoring.vitals import VITALS
from feedletter_site.ticks.schedule import ensure_schedule
from tests import examples, services
from tests.databases import create_database, drop_database, migrated_database, migrated_file
from tests.guard import LoopbackGuard
from tests.levels import level_of
from tests.servers.dns_server import DnsServer

# What asks the database nothing of its own is tried on SQLite alone, and not even read for PostgreSQL. What
# pages, commands and mail servers lead to is asked of PostgreSQL by test_admin_pages, test_large_tables, the
# APIs' tests and those of all rooms beneath.
ONE_DATABASE_SERVES = re.compile(
    r"tests/(\w+/(admin|commands|views)|feeds/(corpus|parsing)|(reader|subscriptions)/rules|channels/(dkim|rules)|delivery/(rendering|rules)"
    r"|common/html|contracts|upgrade|e2e/browser|feeds/histories/test_(ages|answers|identity|moves|strangers)\.py"
    r"|delivery/servers/test_server_(answers|breaks|login|table)\.py|delivery/doctor/test_check\.py"
    r"|delivery/bounces/test_(holdups|record)\.py|delivery/test_template_admin\.py"
    r"|site/test_(admin_journey|admin_rules|api_schemathesis|scanners)\.py"
    r"|site/test_(url_table|api_tokens|log_keys|languages|body_limits)\.py)(/|$)"
)
# `make test` asks PostgreSQL where locks, plain SQL and races are; EVERYWHERE=1 make test asks it all.
POSTGRESQL_AT_ONCE = re.compile(
    r"tests/(common|delivery/(engine|issues|lanes|privacy)|feeds/(hubs|items|polling|rules)"
    r"|chat/guilds|reader/(channels|entries|greader|indieauth|mentions|micropub|microsub|people|streams|timelines)|subscriptions/(collections|privacy|subscribers)|load)(/|$)"
)
# Of these rooms all but races is asked when slow tests are: their SQL is Django's own, or other rooms'.
POSTGRESQL_LATER = re.compile(
    r"tests/(reader/(channels|entries|streams)|delivery/(issues|privacy)|subscriptions/subscribers)"
    r"/(?!\w*(race|together))"
)
# With LONG=1: the outsides of rooms that are asked, and what takes longest.
POSTGRESQL_LAST = re.compile(
    r"tests/(reader/(greader|indieauth|mentions|micropub|microsub)/(?!\w*(race|together))|common/(api|cli)/"
    r"|load/test_simulated_time\.py|feeds/polling/test_duplicate_guids\.py)"
)
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "live_server"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also the tests that are marked slow")
    parser.addoption(
        "--followed",
        choices=("read", "raising"),
        help="every feed is followed by somebody who reads here; or by one who raises each time",
    )
    parser.addoption("--database-only", action="store_true", help="only tests of DATABASE_URL's database")


def pytest_configure(config: pytest.Config) -> None:
    # whitenoise, of a clone whose static files were not collected: they come from the packages.
    config.addinivalue_line("filterwarnings", "ignore:No directory at:UserWarning")
    examples.load(slow=is_long())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--database-only"):
        return None
    path = collection_path.as_posix()
    is_everywhere = os.environ.get("EVERYWHERE") == "1"
    is_left = is_everywhere or collection_path.is_dir() or POSTGRESQL_AT_ONCE.search(path)
    if POSTGRESQL_LATER.search(path) and not (is_everywhere or config.getoption("--slow")):
        return True
    if POSTGRESQL_LAST.search(path) and not (is_everywhere or is_long()):
        return True
    return True if ONE_DATABASE_SERVES.search(path) or not is_left else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is found here, Django and all tests, stays to the end: searched for garbage, it takes a tenth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in at_this_level(config, items) if not is_left_out(config, item)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = dealt(kept, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def at_this_level(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """What runs at this level: 0, or 1 with the slow tests; LONG=1 runs all.

    A later case stands one level above its test, and with PostgreSQL two.
    """
    if is_long():
        return items
    chosen = int(config.getoption("--slow"))
    above = 2 if config.getoption("--database-only") and os.environ.get("EVERYWHERE") != "1" else 1
    seen: set[str] = set()
    kept = []
    for item in items:
        test = item.nodeid.split("[")[0]
        if level_of(item.iter_markers(), is_first=test not in seen, above=above) <= chosen:
            kept.append(item)
        seen.add(test)
    return kept


def dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """As many piles as there are workers, slow tests first and as evenly as can be.

    xdist gives each worker one pile. A slow test that comes last would leave the others idle.
    """
    slow = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")]
    rest = [item for item in items if item not in set(slow)]
    size = -(-len(rest) // workers)
    piles = [slow[pile::workers] + rest[pile * size : (pile + 1) * size] for pile in range(workers)]
    return [item for pile in piles for item in pile]


def is_long() -> bool:
    return os.environ.get("LONG") == "1"


def is_left_out(config: pytest.Config, item: pytest.Item) -> bool:
    if config.getoption("--followed") and item.get_closest_marker("unfollowed"):
        return True
    return bool(config.getoption("--database-only")) and not touches_database(item)


def touches_database(item: pytest.Item) -> bool:
    if any(item.get_closest_marker(name) for name in ("postgres", "browser", "one_database")):
        return False
    if item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())):
        return True
    return issubclass(getattr(item, "cls", None) or object, (TestCase, TransactionTestCase))


def found(service: AbstractContextManager[str]) -> Iterator[str]:
    """The service for a fixture; without it the test is skipped, or fails when services are required."""
    try:
        with service as url:
            yield url
    except services.Missing as error:
        if os.environ.get("REQUIRE_SERVICES") == "1":
            pytest.fail(f"Missing: {error}")
        pytest.skip(f"Missing: {error}")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL on which databases may be created (postgres://postgres@127.0.0.1:port/postgres)."""
    yield from found(services.postgres())


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis database of our own."""
    yield from found(services.redis_server())


@pytest.fixture(scope="session")
def pooler_url(postgres_url: str) -> Iterator[str]:
    """A PgBouncer in transaction mode before `postgres_url`."""
    yield from found(services.pgbouncer(postgres_url))


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
    worker_id: str,
) -> Iterator[None]:
    """Each process's own copy of a migrated database, in place of pytest-django's that migrates anew.

    SQLite in a file, as in real life: in memory, threads would share one connection's locks.
    """
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        copy = tmp_path_factory.mktemp("sqlite") / "test.db"
        shutil.copy(migrated_file(), copy)
        settings["NAME"] = str(copy)
        yield
        return
    server = request.getfixturevalue("postgres_url")
    name = f"test_{settings['NAME']}_{worker_id}"
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
    """Tests with transactions empty the tables that hold rows, a tenth of what Django's flush takes.

    Content types and permissions stay: Django's flush would make them anew after each test.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", delete_rows)
        yield


def delete_rows(case: Any) -> None:
    """What a TransactionTestCase does at its end.

    The rows of the schedule, which migrating makes, are put back as they were; to make them anew takes forty
    milliseconds.
    """
    kept = {ContentType._meta.db_table, Permission._meta.db_table}
    for alias in case._databases_names(include_mirrors=False):
        connection = connections[alias]
        tables = sorted(set(connection.introspection.django_table_names()) - kept)
        # Foreign keys are looked at when the transaction ends, so that the order does not matter.
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


# By database: the tables of the schedule, with their rows.
SCHEDULE: dict[str, dict[str, list[tuple[Any, ...]]]] = {}


def rows_of(cursor: Any, table: str) -> list[tuple[Any, ...]]:
    cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
    return list(cursor.fetchall())


@pytest.fixture(scope="session", autouse=True)
def static_files_looked_up_once() -> Iterator[None]:
    """Each of Django's clients makes all middleware anew, and that one looks through every static file."""
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
    """On a busy machine any count takes long, and a second look would see the first one's figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "SLOW_SECONDS", 60)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_signs_of_life() -> None:
    """Whatever ends in this process would write them down, in tests that have no database, too."""
    VITALS.write = lambda *, now=False: None  # type: ignore[method-assign]


@pytest.fixture(scope="session", autouse=True)
def loopback_guard() -> Iterator[LoopbackGuard]:
    guard = LoopbackGuard()
    with guard.installed():
        yield guard


@pytest.fixture(autouse=True)
def on_loopback(loopback_guard: LoopbackGuard) -> Iterator[None]:
    """Fails the test that tried to leave this machine, even when its code had swallowed the error."""
    loopback_guard.tried.clear()
    yield
    assert not loopback_guard.tried, f"Tests stay on loopback, but this one called {loopback_guard.tried}"


@pytest.fixture(autouse=True)
def cold_cache() -> None:
    """On a busy machine pages remember what took them long; no other test may find that."""
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def no_gap_between_requests() -> None:
    """All servers of a test stand on one host."""
    django_settings.POLL_HOST_GAP = 0.0


@pytest.fixture(scope="session")
def name_server() -> Iterator[DnsServer]:
    """It knows no name."""
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def no_names_but_ours(name_server: DnsServer) -> None:
    django_settings.DNS_SERVERS = [name_server.address]


@pytest.fixture(scope="session", autouse=True)
def every_feed_followed(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --followed: letters must not notice. (Only what drops feeds does, for they stay then.)"""
    how = request.config.getoption("--followed")
    if not how:
        yield
        return
    from feeds.models import Feed
    from feeds.polling import audience

    def raising(feed: Any, told: Any) -> None:
        raise RuntimeError("an audience that raises each time")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Feed._meta.get_field("read_by"), "_get_default", lambda: 1)
        if how == "raising":
            patch.setattr(audience, "audiences", [raising])
        yield


@pytest.fixture
def loopback_allowed(settings: Any) -> None:
    """Lets the safe client reach servers that the test runs on 127.0.0.1."""
    settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.0/8")]


@pytest.fixture
def live_urls(live_server: Any, settings: Any) -> str:
    """The address of a live server to which the program's own absolute links lead."""
    settings.SITE_URL = live_server.url
    return str(live_server.url)
