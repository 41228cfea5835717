import logging
from typing import Any

from django.conf import settings
from gunicorn.glogging import Logger

from feedletter_site.logs import JsonFormatter


class Log(Logger):  # type: ignore[misc]
    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        logging.captureWarnings(True)
        if settings.LOG_FORMAT == "json":
            for handler in self.error_log.handlers:
                handler.setFormatter(JsonFormatter())
