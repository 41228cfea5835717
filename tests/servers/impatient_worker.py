"""The web process's worker with deadlines that a test can wait for."""

from common.web_worker import BufferingWorker


class ImpatientWorker(BufferingWorker):
    request_seconds = 2.0
