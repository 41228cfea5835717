"""Web worker with deadlines short enough for tests."""

from common.web_worker import BufferingWorker


class ImpatientWorker(BufferingWorker):
    request_seconds = 2.0
