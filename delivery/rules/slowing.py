"""A lane that was told to slow down: how much of it is open again, and how it gets there."""


def slowed(count: int, failures: int) -> int:
    """How many may be claimed at a time, of `count` in good days, after so many failures in a row.

    Half as many for each failure, but always one, with which the lane finds out how it stands.
    """
    return max(count >> min(failures, 30), min(count, 1))


def after_success(failures: int, *, serial: bool, is_idle: bool) -> int:
    """The failures that are left when what was claimed in this state has arrived.

    One fewer, so that each claim is twice the last. None where only one goes at a time, or where nothing
    waits any more.
    """
    return 0 if serial or is_idle else max(failures - 1, 0)
