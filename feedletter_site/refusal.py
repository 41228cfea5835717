"""Exit with one sentence and status 1 on a wrong setting."""

import sys
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured


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
