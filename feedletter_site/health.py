"""Whether this process lives, and whether it can serve."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

# Reading all migrations takes a tenth of a second, and what is applied stays applied.
_migrated: set[str] = set()


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; asks no database, so that its outage restarts nobody."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers and is migrated, else 503 with the reason."""
    reason = what_is_missing()
    return HttpResponse(f"{reason or 'ok'}\n", content_type="text/plain", status=503 if reason else 200)


def what_is_missing() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return "" if is_migrated() else "Migrations are missing: run manage.py migrate."
    except DatabaseError:
        return "The database does not answer."


def is_migrated() -> bool:
    name = str(connection.settings_dict["NAME"])
    if name not in _migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return False
        _migrated.add(name)
    return True
