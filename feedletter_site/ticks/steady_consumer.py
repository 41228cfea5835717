import logging
import time
from typing import Any

from celery.worker import state
from celery.worker.consumer import Consumer

log = logging.getLogger(__name__)

RECONNECT_PAUSE_SECONDS = 2.0
SAY_EVERY = 30.0


class SteadyConsumer(Consumer):
    """Reconnects after any error; Celery's ends the worker after unknown ones."""

    # Set by Celery.
    connection_errors: tuple[type[Exception], ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unknown: set[str] = set()

    def start(self) -> None:
        while True:
            try:
                super().start()
                return
            except Exception as error:
                if self.connection is None and not self.restart_count > 1:
                    raise  # it never worked, so a setting is wrong
                log.warning("The connection to the broker is made anew: %r", error)
                self.connection = None
                self.on_close()
                self.blueprint.restart(self)
                time.sleep(RECONNECT_PAUSE_SECONDS)
                state.maybe_shutdown()

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Drop a tick of a newer release. Celery would log a traceback for each."""
        name = (message.headers or {}).get("task", "")
        if name not in self._unknown:
            self._unknown.add(name)
            log.warning("This worker does not know the task %r. Restart it with the release of beat.", name)
        message.reject_log_error(log, self.connection_errors)

    def ensure_connected(self, conn: Any) -> Any:
        """Retry if the broker refuses the login, too; Celery would end the worker."""
        said_at = float("-inf")
        while True:
            try:
                return super().ensure_connected(conn)
            except (*conn.connection_errors, *conn.channel_errors) as error:
                if time.monotonic() - said_at >= SAY_EVERY:
                    said_at = time.monotonic()
                    log.warning(
                        "The broker refuses this worker, which goes on alone. Check CELERY_BROKER_URL: %s",
                        error,
                    )
                time.sleep(RECONNECT_PAUSE_SECONDS)
                state.maybe_shutdown()

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Do not restore unacknowledged messages: kombu 5.7 fails over the closed connection.

        The error is "'NoneType' object has no attribute 'hostname'", and ticks are expendable.
        """
        if channel := getattr(self.connection, "_default_channel", None):
            channel.do_restore = False
        super().on_connection_error_after_connected(exc)
