"""Now, asked in one place. Services take `now` as an argument; only edges call this."""

from datetime import UTC, datetime


def utcnow() -> datetime:
    return datetime.now(UTC)
