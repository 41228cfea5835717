"""Django's PostgreSQL backend, but for how it notices that a kept connection is gone."""

import select
from typing import Any

from django.db.backends.postgresql import base

NOW = 0


class DatabaseWrapper(base.DatabaseWrapper):
    """CONN_HEALTH_CHECKS without a question to the server at every request."""

    def is_usable(self) -> bool:
        """A server that went has closed the connection, and then there is something to read: only then it
        is asked. (One that is cut off without a word answers no question either.)"""
        return not self._has_something_to_read() or bool(super().is_usable())

    def _has_something_to_read(self) -> bool:
        raw: Any = self.connection
        if raw is None or raw.closed:
            return True
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(poll.poll(NOW))
