"""Logs as one JSON object a line, or for a console, without the keys of links."""

import json
import logging
import os
import re
import time
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.utils import InterfaceError, OperationalError
from django.utils.log import configure_logging
from gunicorn.glogging import Logger

STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


# Secrets in addresses: of a subscriber, a hub, the first admin, an invited person, a password reset, a bridge
# or an app; and the signed addresses of pictures, which tell what somebody reads.
_KEY = re.compile(
    r"(/(?:confirm|unsubscribe|manage|sign-in|setup|websub|invitation|new-address|old-address)/+)"
    r"[^/\s?#&\"'<>\\]+"
    r"|(/(?:password-reset|reader/media)/+|/bridge-connected/+(?:\?|%3F))[^\s?#\"'<>\\]+"
    r"|((?:[?&]|%3F|%26)(?:access_token|token|code|state)=|\binvitation=)[^\s&#\"'<>\\]+",
    re.IGNORECASE,
)


def without_keys(text: str) -> str:
    """The text with "..." for each key of a link in it."""
    return _KEY.sub(lambda match: f"{match[1] or match[2] or match[3]}...", text)


class MaskedRecord(logging.LogRecord):
    """The record of any logger of any library, without keys: Django, for one, logs the path of each 4xx."""

    def getMessage(self) -> str:
        return without_keys(super().getMessage())


def mask_keys() -> None:
    """Called once, at the start of each process."""
    logging.setLogRecordFactory(MaskedRecord)


class MaskingFormatter(logging.Formatter):
    """Takes the keys out of tracebacks, too."""

    def format(self, record: logging.LogRecord) -> str:
        return without_keys(super().format(record))


class OneLine(logging.Filter):
    """Lets a record that is repeated at every look pass once in a while, without its traceback."""

    EVERY_SECONDS = 30.0

    def __init__(self) -> None:
        super().__init__()
        self._said_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        now, template = time.monotonic(), str(record.msg)
        if now - self._said_at.get(template, float("-inf")) < self.EVERY_SECONDS:
            return False
        self._said_at[template] = now
        return True


class OutageInOneLine(OneLine):
    """Does so only with errors of a database that is away; any other record stays as it is."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return super().filter(record) if isinstance(error, (OperationalError, InterfaceError)) else True


def log_as_we_do(**_: Any) -> None:
    """Receives Celery's celeryd_init and setup_logging: Celery leaves logging to the settings.

    A worker warns of some things, such as being root, before Django is set up.
    """
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    logging.captureWarnings(True)
    if settings.LOG_FORMAT == "json":
        # When a worker is told to end, the signal's handler prints that past all loggers.
        from celery.apps import worker

        setattr(worker, "safe_say", say)  # noqa: B010 - Celery has no types


def say(message: str, file: Any = None) -> None:
    """Replaces Celery's safe_say, and writes one JSON object on one line."""
    record = logging.LogRecord("celery.worker", logging.INFO, "", 0, message.strip(), None, None)
    os.write(2, f"{JsonFormatter().format(record)}\n".encode())


class JsonFormatter(logging.Formatter):
    """Time (ISO 8601, UTC), level, logger, message, whatever `extra=` gave, and the traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry.update({key: value for key, value in vars(record).items() if key not in STANDARD})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return without_keys(json.dumps(entry, default=str, ensure_ascii=False))


class Log(Logger):  # type: ignore[misc]
    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        logging.captureWarnings(True)
        if settings.LOG_FORMAT == "json":
            for handler in self.error_log.handlers:
                handler.setFormatter(JsonFormatter())
