"""Error page: 503 if the database is unreachable, else 500.

Exit with one sentence and status 1 on a wrong setting.
"""

import logging
import sys
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.defaults import server_error as usual

from common.counters import count

log = logging.getLogger("django.request")
RETRY_AFTER = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500, called while the exception is handled."""
    error = sys.exc_info()[1]
    answer = usual(request)
    if not is_away(error):
        return answer
    log.error("The database is busy or unavailable, so %s is not answered: %s", request.path, error)
    count("trouble", "database_away")
    answer.status_code = 503
    answer["Retry-After"] = str(RETRY_AFTER)
    # Django would log the traceback.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def is_away(error: BaseException | None) -> bool:
    """SQLite raises OperationalError for a missing table, too."""
    return isinstance(error, (OperationalError, InterfaceError)) and "no such " not in str(error)


def sound_settings() -> None:
    from django.conf import settings

    try:
        _ = settings.SECRET_KEY
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def tell_in_a_sentence() -> None:
    """Leave out the traceback, unless --traceback is given."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, ImproperlyConfigured) and "--traceback" not in sys.argv:
            print(error, file=sys.stderr)  # noqa: T201 - there is no logging without settings
        else:
            usual(kind, error, trace)

    sys.excepthook = hook
