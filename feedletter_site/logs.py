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

STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


# Secrets of subscribers, hubs, the first admin, invitations, password resets, bridges and apps, and signed
# addresses of pictures, which reveal reading habits.
_KEY = re.compile(
    r"(/(?:confirm|unsubscribe|manage|sign-in|setup|join|websub|invitation|picks|new-address|old-address|account/address)/+)"
    r"[^/\s?#&\"'<>\\]+"
    r"|(/(?:password-reset|reader/media)/+|/bridge-connected/+(?:\?|%3F))[^\s?#\"'<>\\]+"
    r"|((?:[?&]|%3F|%26)(?:access_token|token|code|state)=|\binvitation=)[^\s&#\"'<>\\]+",
    re.IGNORECASE,
)


def without_keys(text: str) -> str:
    return _KEY.sub(lambda match: f"{match[1] or match[2] or match[3]}...", text)


class MaskedRecord(logging.LogRecord):
    """For all libraries: Django logs the path of each 4xx."""

    def getMessage(self) -> str:
        return without_keys(super().getMessage())


class MaskingFormatter(logging.Formatter):
    """For tracebacks, too."""

    def format(self, record: logging.LogRecord) -> str:
        return without_keys(super().format(record))


class OneLine(logging.Filter):
    """Limit repeated records to one per EVERY_SECONDS, without traceback."""

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
    """Only for errors of an unreachable database."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return super().filter(record) if isinstance(error, (OperationalError, InterfaceError)) else True


def log_as_we_do(**_: Any) -> None:
    """Receive Celery's celeryd_init and setup_logging, so that the settings configure logging.

    Workers warn of some things, such as being root, before Django is set up.
    """
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    logging.captureWarnings(True)
    if settings.LOG_FORMAT == "json":
        # During shutdown the signal handler bypasses all loggers.
        from celery.apps import worker

        setattr(worker, "safe_say", say)  # noqa: B010 - Celery has no types


def say(message: str, file: Any = None) -> None:
    record = logging.LogRecord("celery.worker", logging.INFO, "", 0, message.strip(), None, None)
    os.write(2, f"{JsonFormatter().format(record)}\n".encode())


class JsonFormatter(logging.Formatter):
    """One object per line: time (ISO 8601, UTC), level, logger, message, `extra` and traceback."""

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
