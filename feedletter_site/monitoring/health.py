import shutil
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.clock import utcnow
from common.program import MANAGE
from feedletter_site.monitoring.stages import stage_statuses
from feedletter_site.schema import unfit
from subscriptions.subscribers.rate_limits import undeclared_proxy

# Checking migrations takes 0.1 s, so success is remembered.
_migrated: set[str] = set()
# Bytes. SQLite's log needs space even to delete.
LEAST_FREE = 10_000_000
# Without its address, as anybody may read this.
UNDECLARED = "TRUSTED_PROXIES lacks a proxy: see the overview.\n"


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Does not use the database, whose outage must not restart processes."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database answers and is migrated, else 503 with the reason.

    `/readyz?stages` also checks the stages.
    """
    reason = what_is_missing()
    if not reason and "stages" in request.GET:
        reason = " ".join(one.trouble for one in stage_statuses(utcnow()) if one.trouble)
    note = UNDECLARED if not reason and undeclared_proxy() else ""
    return HttpResponse(f"{reason or 'ok'}\n{note}", content_type="text/plain", status=503 if reason else 200)


def what_is_missing() -> str:
    if reason := full_disk():
        return reason
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return not_migrated()
    except DatabaseError:
        return "The database doesn’t answer."


def full_disk() -> str:
    """Return an error, or "": otherwise only failed letters would show a full disk."""
    folders = {"DATA_DIR": Path(settings.DATA_DIR)}
    if connection.vendor == "sqlite":
        folders["DATABASE_URL"] = Path(str(connection.settings_dict["NAME"])).parent
    for name, folder in folders.items():
        if folder.is_dir() and shutil.disk_usage(folder).free < LEAST_FREE:
            return f"The disk that {name} is on is full."
    return ""


def not_migrated() -> str:
    name = str(connection.settings_dict["NAME"])
    if name not in _migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return f"Migrations are missing: run {MANAGE} migrate."
        if reason := unfit(connection):
            return reason
        _migrated.add(name)
    return ""
