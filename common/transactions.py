"""No network inside a transaction: on SQLite it blocks every writer, on PostgreSQL it holds locks."""

from django.db import connections


class NetworkInTransaction(RuntimeError):
    """A programming error: a request was about to go out while a transaction was open."""


def forbid_open_transaction() -> None:
    """Raises NetworkInTransaction when any connection of this thread has a transaction open."""
    for connection in connections.all(initialized_only=True):
        # Django's TestCase wraps each test in a transaction of its own: that one does not count.
        if any(not getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
            raise NetworkInTransaction("A request may not be made inside a transaction.")
