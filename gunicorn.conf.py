"""Checks of the settings before gunicorn listens, and its log format, however it is started.

A child process looks at the settings: with them come Django and Celery, 25 MB that gunicorn's parent process
would keep for as long as it lives.
"""

import os
import sys

SOUND, SOUND_AND_JSON = 0, 3


def _look() -> None:
    """Ends this process: with one sentence when the settings cannot be used."""
    from feedletter_site.errors import sound_settings

    sound_settings()
    from django.conf import settings

    os._exit(SOUND_AND_JSON if settings.LOG_FORMAT == "json" else SOUND)


if (_child := os.fork()) == 0:
    _look()
_status = os.waitstatus_to_exitcode(os.waitpid(_child, 0)[1])
if _status == SOUND_AND_JSON:
    logger_class = "feedletter_site.gunicorn_log.Log"
elif _status != SOUND:
    sys.exit(1)
