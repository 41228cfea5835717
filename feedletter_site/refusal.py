"""Ends a process that has a wrong setting with one sentence and status 1, however it was started."""

import sys
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured


def sound_settings() -> None:
    """Ends the process when the settings cannot be used."""
    from django.conf import settings

    try:
        _ = settings.SECRET_KEY
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def tell_in_a_sentence() -> None:
    """Shows an uncaught ImproperlyConfigured without a traceback: a setting is at fault, not the code."""
    usual = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, ImproperlyConfigured) and "--traceback" not in sys.argv:
            print(error, file=sys.stderr)  # noqa: T201 - there is no logging without settings
        else:
            usual(kind, error, trace)

    sys.excepthook = hook
