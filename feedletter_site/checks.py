"""Checks of combinations of settings; env.py checks each alone.

Check that this release can use the database.

Before the first release migrations were rewritten in place, so older databases lack tables and columns.
"""

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from common.checks import OWN_CHECKS
from common.net.addresses import NEAR, is_within

OUR_APPS = ("common", "feeds", "subscriptions", "delivery", "reader", "fediverse", "chat", "feedletter_site")
WAY_OUT = (
    "It cannot be upgraded. With the program that made it, export the feeds (export_opml) and the "
    "subscribers (export_subscribers), then begin with an empty database: docs/operating/upgrade.md."
)
# The end of a migration's name: the oldest release that may run when it is applied.
OLDEST = re.compile(r"_beside_(\d+)_(\d+)_(\d+)\Z")
SHORTEST_SECRET = 50
THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}


@register(OWN_CHECKS)
def settings_fit_together(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """SILENCED_SYSTEM_CHECKS silences the ids."""
    allowed = settings.ALLOW_PRIVATE_NETWORKS
    is_private = "." not in settings.SITE_HOST or is_within(settings.SITE_HOST, NEAR)
    opens_loopback = is_within("127.0.0.1", allowed) or is_within("::1", allowed)
    backups = Path(settings.BACKUP_DIR)
    nearest = next(each for each in (backups, *backups.parents) if os.path.lexists(each))
    problems = (
        (
            "W001",
            not settings.EMBEDDED and "sqlite" in settings.DATABASES["default"]["ENGINE"],
            "CELERY_BROKER_URL is set, but the database is SQLite, which only this machine can share.",
            "DATABASE_URL=postgres://user:password@host/name",
        ),
        (
            "W003",
            settings.SITE_HOST in THIS_MACHINE and not settings.EMAIL_URL.startswith("mailbox:"),
            f"Emails are sent, but their links lead to {settings.SITE_URL}, which subscribers can’t open.",
            "Set SITE_URL to the address that subscribers use, such as https://letters.example.org",
        ),
        (
            "W004",
            len(settings.SECRET_KEY) < SHORTEST_SECRET,
            f"SECRET_KEY has fewer than {SHORTEST_SECRET} characters, so sessions and tokens can be forged.",
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))"',
        ),
        (
            "W007",
            settings.SITE_URL.startswith("https:") and not settings.TRUSTED_PROXIES,
            "TRUSTED_PROXIES is empty, but SITE_URL is https: visitors share the proxy’s limit of sign-ups.",
            "Set TRUSTED_PROXIES to the address that the proxy’s requests come from, such as 127.0.0.1",
        ),
        (
            "W008",
            opens_loopback and not is_private,
            "ALLOW_PRIVATE_NETWORKS has this machine, so people who add feeds can read services on it.",
            "Remove it. It is for trying Feedletter on one machine",
        ),
        (
            "W009",
            settings.OIDC_URL and not settings.OIDC_CLIENT_ID,
            "OIDC_URL is set, but OIDC_CLIENT_ID is empty, so nobody can sign in with OpenID Connect.",
            "Set OIDC_CLIENT_ID and OIDC_CLIENT_SECRET to the client that you registered at the provider",
        ),
        (
            "W010",
            settings.BACKUP_DIR and not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)),
            f"BACKUP_DIR is {backups}, where no backup can be written.",
            "Name a folder that the service may make or write to",
        ),
    )
    return [
        Warning(message, hint=hint, id=f"feedletter.{number}")
        for number, is_wrong, message, hint in problems
        if is_wrong
    ]


def too_new(connection: BaseDatabaseWrapper) -> str:
    """Return why this release may not run with the database, or ""."""
    # Without loading the migrations, which would cost each worker 3 MB.
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        is_unknown = app in OUR_APPS and find_spec(f"{app}.migrations.{name}") is None
        if is_unknown and not may_run_beside(name, settings.VERSION):
            # Its migrations had other names then.
            return too_old_database(connection) or (
                f"A newer release than {settings.VERSION} has upgraded this database (with {app}.{name}). "
                "Run that release, or restore the backup made before the upgrade: docs/operating/upgrade.md."
            )
    return ""


def may_run_beside(migration: str, release: str) -> bool:
    """Return whether the release may run when this migration, which it doesn't know, is applied."""
    oldest = OLDEST.search(migration)
    return oldest is not None and numbers(release) >= tuple(map(int, oldest.groups()))


def numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)[:3]))


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    loader = MigrationLoader(connection)
    applied = [node for node in loader.applied_migrations if node in loader.graph.nodes]
    if not any(app in OUR_APPS for app, _ in applied):
        return []
    state: Any = loader.project_state(applied)
    models = state.apps.get_models(include_auto_created=True)
    lacking: list[str] = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for meta in (model._meta for model in models if model._meta.app_label in OUR_APPS):
            table = meta.db_table
            if table not in tables:
                lacking.append(f"the table {table}")
                continue
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            columns = (field.column for field in meta.concrete_fields)
            lacking += [f"the column {column} of {table}" for column in columns if column not in there]
    return lacking


def too_old_database(connection: BaseDatabaseWrapper) -> str:
    """Return why migrations cannot upgrade this database, or ""."""
    lacking = missing(connection)
    if not lacking:
        return ""
    what = f"{lacking[0]} and {len(lacking) - 1} more are" if len(lacking) > 1 else f"{lacking[0]} is"
    return f"This database was made before the first release: {what} missing. {WAY_OUT}"


def unfit(connection: BaseDatabaseWrapper) -> str:
    """Return why this release can't use the database, or ""."""
    return too_new(connection) or too_old_database(connection)
