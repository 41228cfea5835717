"""Beat inside the worker, for the embedded default: one process less, and the memory broker needs it so."""

import logging
import threading
from typing import Any

from celery import bootsteps
from celery.beat import Service

logger = logging.getLogger(__name__)
PAUSE_SECONDS = 5
STOP_SECONDS = 3


class BeatThread(bootsteps.StartStopStep):
    """`celery worker -B` forks its beat, which then talks to a memory broker of its own: no tick arrives."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self.stopping = threading.Event()
        self.service: Any = None
        self.thread: threading.Thread | None = None

    def start(self, parent: Any) -> None:
        self.service = self.new_service(parent.app)
        self.thread = threading.Thread(target=self.beat, args=(parent.app,), name="beat", daemon=True)
        self.thread.start()

    def stop(self, parent: Any) -> None:
        self.stopping.set()
        if self.thread is not None:
            self.service.stop()
            self.thread.join(STOP_SECONDS)

    def beat(self, app: Any) -> None:
        """Beats until told to stop. A beat that fails begins anew: without it the worker would only idle."""
        while not self.stopping.is_set():
            try:
                self.service.start()
            except Exception:
                logger.exception("Beat failed; it begins again in %d seconds.", PAUSE_SECONDS)
                self.stopping.wait(PAUSE_SECONDS)
                self.service = self.new_service(app)

    @staticmethod
    def new_service(app: Any) -> Any:
        # One second at most between looks, so that stopping takes no longer.
        options: dict[str, Any] = {"scheduler_cls": app.conf.beat_scheduler, "remote_control": False}
        return Service(app, max_interval=1, **options)
