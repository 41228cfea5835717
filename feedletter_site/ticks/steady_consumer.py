"""A worker that stays when its broker goes, and goes on by itself when no ticks come."""

import logging
import time

from celery.worker import state
from celery.worker.consumer import Consumer

log = logging.getLogger(__name__)

RECONNECT_PAUSE_SECONDS = 2.0


class SteadyConsumer(Consumer):
    """Celery's consumer of messages, but it connects again after any error. Celery ends the worker for every
    error that it does not know."""

    def start(self) -> None:
        while True:
            try:
                super().start()
                return
            except Exception as error:
                if self.connection is None and not self.restart_count > 1:
                    raise  # it has never worked: a setting is wrong
                log.warning("The connection to the broker is made anew: %r", error)
                self.connection = None
                self.on_close()
                self.blueprint.restart(self)
                time.sleep(RECONNECT_PAUSE_SECONDS)
                state.maybe_shutdown()

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Does not give unacknowledged messages back. kombu 5.7 would do that over the connection that it has
        just taken apart ("'NoneType' object has no attribute 'hostname'"), and a tick is not worth it."""
        if channel := getattr(self.connection, "_default_channel", None):
            channel.do_restore = False
        super().on_connection_error_after_connected(exc)
