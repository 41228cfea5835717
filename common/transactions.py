"""Network requests in transactions block SQLite's writers or hold PostgreSQL's locks."""

from django.db import connections


class NetworkInTransaction(RuntimeError):
    pass


def forbid_open_transaction() -> None:
    for connection in connections.all(initialized_only=True):
        # Django's TestCase wraps each test in a transaction.
        if any(not getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
            raise NetworkInTransaction("A request may not be made inside a transaction.")
